//! Makes the index again from archives.

use crate::Store;
use crate::error::StoreError;
use crate::ingest::remove;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Result of a rebuild.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rebuilt {
    /// Archives in the index.
    pub runs: u64,
    /// Rows without an archive, removed.
    pub removed: u64,
    /// Archives that could not be read, with the reason.
    pub left_out: Vec<LeftOut>,
}

/// An archive that is not in the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub archive: String,
    pub because: String,
}

impl Store {
    /// Reads each of these archives again, which are all below the directory, and removes the rows of those that are gone.
    /// The index answers all the while. Calls `progress` with the number of archives read.
    ///
    /// # Errors
    /// Errors of the database and of the object store. An archive that cannot be read is left out.
    pub async fn rebuild(
        &self,
        archives: Vec<PathBuf>,
        progress: &mut dyn FnMut(usize),
    ) -> Result<Rebuilt, StoreError> {
        let mut rebuilt = Rebuilt::default();
        let mut found = BTreeSet::new();
        for (number, archive) in archives.iter().enumerate() {
            progress(number);
            match self.add(archive, true).await {
                Ok(ingested) => drop(found.insert(ingested.digest)),
                Err(error) if error.is_of_the_lab() => return Err(error),
                Err(error) => rebuilt
                    .left_out
                    .push(LeftOut { archive: archive.display().to_string(), because: error.to_string() }),
            }
        }
        self.rebuild_from_objects(&mut found, &mut rebuilt).await?;
        rebuilt.runs = found.len() as u64;
        let known: Vec<(String,)> = sqlx::query_as("SELECT digest FROM runs").fetch_all(self.database.pool()).await?;
        for (digest,) in known.into_iter().filter(|(digest,)| !found.contains(digest)) {
            let mut writing = self.database.write().await?;
            rebuilt.removed += u64::from(remove(&mut writing, &digest).await?);
            writing.commit().await?;
        }
        Ok(rebuilt)
    }

    /// Adds the archives that only the object store has. Without a list of these nothing is removed.
    async fn rebuild_from_objects(
        &self,
        found: &mut BTreeSet<String>,
        rebuilt: &mut Rebuilt,
    ) -> Result<(), StoreError> {
        let Some(objects) = &self.objects else { return Ok(()) };
        for digest in objects.digests().await? {
            if found.contains(&digest) {
                continue;
            }
            let added = match self.fetched(objects, &digest).await {
                Ok(Some(path)) => self.add(&path, true).await,
                Ok(None) => continue,
                Err(error) => Err(error),
            };
            match added {
                Ok(ingested) => drop(found.insert(ingested.digest)),
                Err(error) if error.is_of_the_lab() => return Err(error),
                Err(error) => rebuilt.left_out.push(LeftOut { archive: digest, because: error.to_string() }),
            }
        }
        Ok(())
    }
}
