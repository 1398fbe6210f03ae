//! Whether a lab is in order: the database, its rows, the archives, the queue, the workers. Nothing is changed.

mod alerts;
mod archives;
mod database;
mod queue;

use crate::Store;
use crate::error::StoreError;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A defect of a store, with its fix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Its name; it stays.
    pub finding: String,
    pub detail: String,
    pub fix: String,
}

impl Finding {
    fn new(finding: &str, detail: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { finding: finding.to_owned(), detail: detail.into(), fix: fix.into() }
    }
}

/// Result of a check: its scope and its findings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Health {
    /// `SQLite 3.50.4`
    pub database: String,
    pub runs: u64,
    /// Below the directory.
    pub archives: u64,
    /// That the user of this process may use, on the file system of the archives.
    pub free_bytes: u64,
    pub findings: Vec<Finding>,
}

impl Store {
    /// Looks at everything. `archives` are all that are below the directory; `index` is appended to the commands of the fixes,
    /// and names this index: empty or a space with options.
    ///
    /// # Errors
    /// Errors of the database, if it does not answer at all.
    pub async fn health(&self, archives: &[PathBuf], index: &str) -> Result<Health, StoreError> {
        let now_unix_ns = self.now_unix_ns().await?;
        let (database, mut findings) = self.database_health(now_unix_ns, index).await?;
        findings.extend(self.row_health(index).await?);
        let (free_bytes, of_archives) = self.archive_health(archives, index).await?;
        findings.extend(of_archives);
        findings.extend(self.queue_health(now_unix_ns, index).await?);
        findings.extend(self.alert_health(now_unix_ns, index).await?);
        let runs = self.counts().await?.runs;
        Ok(Health { database, runs, archives: archives.len() as u64, free_bytes, findings })
    }
}
