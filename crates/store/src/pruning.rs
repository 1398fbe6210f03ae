//! Removes the raw traces of a run. Its address stays: a list of what the archive contained takes the place of the files.

use crate::Store;
use crate::database::now_unix_ns;
use crate::digest::Contents;
use crate::error::StoreError;
use crate::pins::Pins;
use crate::retention::Prunable;
use archive::directory::ArchiveDirectory;
use serde::{Deserialize, Serialize};
use std::io;

pub(crate) const CONTENTS_FILE: &str = "contents.json";
const CONTENTS_BYTES_MAX: u64 = 64 << 20;

/// What was removed from a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pruned {
    pub files: u64,
    pub bytes: u64,
}

/// What an archive contained before raw traces were removed.
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
    /// again completes it.
    ///
    /// # Errors
    /// Those of the database, the disk and the object store.
    pub async fn prune(&self, run: &Prunable) -> Result<Option<Pruned>, StoreError> {
        let path = self.here(&run.digest, &run.location).await?;
        let archive = ArchiveDirectory::open(&path).map_err(StoreError::io(&path))?;
        let present = Contents::of(&archive).map_err(StoreError::io(&path))?;
        let mut writing = self.database.write().await?;
        let now = now_unix_ns();
        let sql = "UPDATE runs SET pruned_unix_ns = $2 WHERE digest = $1 AND pinned = 0";
        let marked = sqlx::query(sql).bind(&run.digest).bind(now).execute(&mut *writing.transaction).await?;
        // A pin beside the archive that this index has not read yet.
        let pins = Pins::read(&archive).map_err(StoreError::io(&path))?;
        let pinned = !self.pins_beside(&run.digest, pins).await?.pins.is_empty();
        if marked.rows_affected() == 0 || pinned {
            return Ok(None);
        }
        if PrunedContents::read(&archive, &present).map_err(StoreError::io(&path))?.is_none() {
            // Other files are at its place than when it was added.
            if present.digest() != run.digest {
                return Ok(None);
            }
            let list = PrunedContents { pruned_unix_ns: now, contents: present.clone() };
            let json = serde_json::to_vec(&list).expect("a list has only string keys");
            archive.replace(CONTENTS_FILE, &json).map_err(StoreError::io(path.join(CONTENTS_FILE)))?;
            archive.sync_names().map_err(StoreError::io(&path))?;
        }
        self.prune_objects(&run.digest, &path).await?;
        let mut pruned = Pruned::default();
        for file in present.raw() {
            archive.remove(&file.name).map_err(StoreError::io(path.join(&file.name)))?;
            pruned.files += 1;
            pruned.bytes += file.bytes;
        }
        // Until here a pin waits for this row.
        writing.commit().await?;
        Ok(Some(pruned))
    }
}
