//! Open data of a lab: SQL views with names that stay, and the same rows as Parquet, divided by board and month.
//!
//! A new version of a view gets a new name; columns are only added. docs/how-to/open-data.md lists them.

mod columns;
mod files;
mod partitions;

use crate::Store;
use crate::error::StoreError;
use columns::Table;
use parquet::errors::ParquetError;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;
use thiserror::Error;

/// Written files.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exported {
    pub tables: Vec<ExportedTable>,
    pub bytes: u64,
}

/// One table of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedTable {
    /// Its folder, too.
    pub table: String,
    pub files: u64,
    pub rows: u64,
}

/// Why there is no export.
#[derive(Debug, Error)]
pub enum ExportError {
    #[error("{0} is not empty; name a new directory")]
    NotEmpty(String),
    #[error("failed to write Parquet: {0}")]
    Writer(#[from] ParquetError),
    #[error("failed to write {path}: {source}")]
    Io { path: String, source: io::Error },
    #[error("{0}")]
    Store(#[from] StoreError),
}

impl From<sqlx::Error> for ExportError {
    fn from(error: sqlx::Error) -> Self {
        Self::Store(error.into())
    }
}

impl Store {
    /// Writes every table into a new directory, which appears when it is complete.
    ///
    /// # Errors
    /// If the directory has something in it; those of the database and of the disk.
    pub async fn export(&self, directory: &Path) -> Result<Exported, ExportError> {
        let staged = files::Staged::beside(directory)?;
        let mut exported = Exported::default();
        for table in Table::ALL {
            let mut written = ExportedTable { table: table.name.to_owned(), files: 0, rows: 0 };
            for mut partition in self.partitions(table).await? {
                let columns = self.rows(table, &mut partition).await?;
                let bytes = staged.write(table, &partition, columns)?;
                written.files += 1;
                written.rows += partition.rows;
                exported.bytes += bytes;
            }
            exported.tables.push(written);
        }
        staged.finish()?;
        Ok(exported)
    }
}
