//! Removes the raw traces of a run. Its address stays: a list of what the archive contained takes the place of the files.

use crate::Store;
use crate::database::now_unix_ns;
use crate::digest::Contents;
use crate::error::StoreError;
use crate::holds::Hold;
use crate::pins::Pins;
use crate::retention::Prunable;
use archive::directory::ArchiveDirectory;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

pub(crate) const CONTENTS_FILE: &str = "contents.json";
const CONTENTS_BYTES_MAX: u64 = 64 << 20;

/// Files that were removed from a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    pub files: u64,
    pub bytes: u64,
}

/// Contents of an archive before raw traces were removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PrunedContents {
    pub pruned_unix_ns: i64,
    pub contents: Contents,
}

impl PrunedContents {
    /// The list of an archive of this store, if what is there agrees with it. One that disagrees is not the archive that
    /// the list is of.
    pub fn read(archive: &ArchiveDirectory, present: &Contents) -> io::Result<Option<Self>> {
        let bytes = match archive.read(CONTENTS_FILE, CONTENTS_BYTES_MAX) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let Ok(list) = serde_json::from_slice::<Self>(&bytes) else { return Ok(None) };
        let known = |file| list.contents.files.contains(file);
        let complete = |contents: &Contents| contents.files.iter().filter(|file| !file.name.contains('/')).count();
        let agrees = present.files.iter().all(known) && complete(present) == complete(&list.contents);
        Ok(agrees.then_some(list))
    }
}

impl Store {
    /// Removes the raw traces of a run, unless it was pinned meanwhile: then returns `None`. After a crash, removing them
    /// again completes it. The run is held meanwhile, so that pins wait; rows wait for no object store.
    ///
    /// # Errors
    /// Errors of the database, the disk and the object store.
    pub async fn prune(&self, run: &Prunable) -> Result<Option<Pruned>, StoreError> {
        let path = self.here(&run.digest, &run.location).await?;
        let hold = self.hold(&run.digest).await?;
        let (pruned, at_unix_ns) = match self.prune_held(run, &path, &hold).await {
            Ok(Some(pruned)) => pruned,
            other => {
                hold.release().await?;
                return other.map(|_| None);
            }
        };
        let mut writing = self.database.write().await?;
        let sql = "UPDATE runs SET pruned_unix_ns = $2 WHERE digest = $1";
        let query = sqlx::query(sql).bind(&run.digest).bind(at_unix_ns);
        query.execute(&mut *writing.transaction).await?;
        hold.end_in(&mut writing).await?;
        writing.commit().await?;
        Ok(Some(pruned))
    }

    /// Removed files, and the instant that the list beside the archive has for them.
    async fn prune_held(&self, run: &Prunable, path: &Path, hold: &Hold) -> Result<Option<(Pruned, i64)>, StoreError> {
        let archive = ArchiveDirectory::open(path).map_err(StoreError::io(path))?;
        let present = Contents::of(&archive).map_err(StoreError::io(path))?;
        // A pin beside the archive that this index has not read yet counts as well.
        let beside = Pins::read(&archive).map_err(StoreError::io(path))?;
        let sql = "SELECT COUNT(*) FROM runs WHERE digest = $1 AND pinned = 0";
        let (unpinned,): (i64,) = sqlx::query_as(sql).bind(&run.digest).fetch_one(self.database.pool()).await?;
        if unpinned == 0 || !self.pins_beside(&run.digest, beside).await?.pins.is_empty() {
            return Ok(None);
        }
        let listed = PrunedContents::read(&archive, &present).map_err(StoreError::io(path))?;
        let at_unix_ns = listed.as_ref().map_or_else(now_unix_ns, |list| list.pruned_unix_ns);
        if listed.is_none() {
            // Other files are at its place than when it was added.
            if present.digest() != run.digest {
                return Ok(None);
            }
            let list = PrunedContents { pruned_unix_ns: at_unix_ns, contents: present.clone() };
            let json = serde_json::to_vec(&list).expect("a list has only string keys");
            archive.replace(CONTENTS_FILE, &json).map_err(StoreError::io(path.join(CONTENTS_FILE)))?;
            archive.sync_names().map_err(StoreError::io(path))?;
        }
        self.prune_objects(&run.digest, path, hold).await?;
        if !hold.still().await? {
            return Err(StoreError::Held(run.digest.clone()));
        }
        let mut pruned = Pruned::default();
        for file in present.raw() {
            archive.remove(&file.name).map_err(StoreError::io(path.join(&file.name)))?;
            pruned.files += 1;
            pruned.bytes += file.bytes;
        }
        Ok(Some((pruned, at_unix_ns)))
    }
}
