//! Reasons to keep the raw traces of a run: pins of people, and incidents that cite it. Stored beside the archive, so
//! that a new index knows them.

use crate::Store;
use crate::database::{Writing, now_unix_ns};
use crate::error::StoreError;
use crate::label::label;
use archive::directory::ArchiveDirectory;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::Path;

const PINS_FILE: &str = "pins.json";
const PINS_BYTES_MAX: u64 = 1 << 20;
const PINS_MAX: usize = 1000;

/// Why the traces of a run are kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    /// As the user wrote it: an incident's address, a name.
    pub reason: String,
    pub pinned_unix_ns: i64,
}

/// The pins of one run, by reason.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Pins {
    pub pins: Vec<Pin>,
}

impl Pins {
    /// Pins of an archive. A file that cannot be understood counts as a pin: losing traces is worse than keeping them.
    pub fn read(archive: &ArchiveDirectory) -> io::Result<Self> {
        match archive.read(PINS_FILE, PINS_BYTES_MAX) {
            Ok(bytes) => Ok(Self::parse(&bytes)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Self::default()),
            Err(error) => Err(error),
        }
    }

    fn parse(json: &[u8]) -> Self {
        serde_json::from_slice(json).unwrap_or_else(|_| Self {
            pins: vec![Pin { reason: format!("{PINS_FILE} cannot be read"), pinned_unix_ns: 0 }],
        })
    }

    pub async fn write_rows(&self, writing: &mut Writing<'_>, digest: &str) -> Result<(), StoreError> {
        let sql = "INSERT INTO pins (digest, reason, pinned_unix_ns) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING";
        for pin in self.pins.iter().take(PINS_MAX) {
            let query = sqlx::query(sql).bind(digest).bind(label(&pin.reason)).bind(pin.pinned_unix_ns);
            query.execute(&mut *writing.transaction).await?;
        }
        let sql = "UPDATE runs SET pinned = (SELECT COUNT(*) FROM pins WHERE digest = $1) WHERE digest = $1";
        sqlx::query(sql).bind(digest).execute(&mut *writing.transaction).await?;
        Ok(())
    }
}

impl Store {
    /// Keeps the raw traces of a run for a reason, until that reason is unpinned. Returns whether they are still there;
    /// `None` if the index does not have the run.
    ///
    /// # Errors
    /// Errors of the database and of writing beside the archive.
    pub async fn pin(&self, digest: &str, reason: &str) -> Result<Option<bool>, StoreError> {
        let pin = Pin { reason: label(reason), pinned_unix_ns: now_unix_ns() };
        self.change_pins(digest, |pins| {
            if pins.iter().all(|known| known.reason != pin.reason) {
                pins.push(pin);
            }
        })
        .await
    }

    /// Removes a reason for which raw traces of a run were kept. Returns as [`Self::pin`].
    ///
    /// # Errors
    /// As [`Self::pin`].
    pub async fn unpin(&self, digest: &str, reason: &str) -> Result<Option<bool>, StoreError> {
        let reason = label(reason);
        self.change_pins(digest, |pins| pins.retain(|known| known.reason != reason)).await
    }

    /// The pins of an archive: those of the object store, which every host sees, or else those beside the copy of this host.
    pub(crate) async fn pins_beside(&self, digest: &str, here: Pins) -> Result<Pins, StoreError> {
        let Some(objects) = &self.objects else { return Ok(here) };
        Ok(objects.pins(digest, PINS_BYTES_MAX).await?.map_or(here, |json| Pins::parse(&json)))
    }

    /// The run is held first, so that pruning and other changes of its pins wait; rows wait for no object store.
    async fn change_pins(&self, digest: &str, change: impl FnOnce(&mut Vec<Pin>)) -> Result<Option<bool>, StoreError> {
        let sql = "SELECT location FROM runs WHERE digest = $1";
        let found: Option<(String,)> = sqlx::query_as(sql).bind(digest).fetch_optional(self.database.pool()).await?;
        let Some((location,)) = found else { return Ok(None) };
        let path = self.here(digest, &location).await?;
        let hold = self.hold(digest).await?;
        let changed = self.change_held_pins(digest, &path, change).await;
        let pins = match changed {
            Ok(pins) => pins,
            Err(error) => {
                hold.release().await?;
                return Err(error);
            }
        };
        let mut writing = self.database.write().await?;
        if !hold.end_in(&mut writing).await? {
            return Err(StoreError::Held(digest.to_owned()));
        }
        sqlx::query("DELETE FROM pins WHERE digest = $1").bind(digest).execute(&mut *writing.transaction).await?;
        pins.write_rows(&mut writing, digest).await?;
        let sql = "SELECT pruned_unix_ns FROM runs WHERE digest = $1";
        let pruned: Option<(Option<i64>,)> =
            sqlx::query_as(sql).bind(digest).fetch_optional(&mut *writing.transaction).await?;
        writing.commit().await?;
        Ok(pruned.map(|(pruned,)| pruned.is_none()))
    }

    /// Changes the pins beside an archive, here and in the object store.
    async fn change_held_pins(
        &self,
        digest: &str,
        path: &Path,
        change: impl FnOnce(&mut Vec<Pin>),
    ) -> Result<Pins, StoreError> {
        let archive = ArchiveDirectory::open(path).map_err(StoreError::io(path))?;
        let beside = Pins::read(&archive).map_err(StoreError::io(path))?;
        let mut pins = self.pins_beside(digest, beside).await?;
        change(&mut pins.pins);
        let json = serde_json::to_vec(&pins).expect("pins have only string keys");
        archive.replace(PINS_FILE, &json).map_err(StoreError::io(path.join(PINS_FILE)))?;
        if let Some(objects) = &self.objects {
            objects.put_pins(digest, json).await?;
        }
        Ok(pins)
    }

    /// Why the raw traces of a run are kept, oldest first.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn pins(&self, digest: &str) -> Result<Vec<Pin>, StoreError> {
        let sql = "SELECT reason, pinned_unix_ns FROM pins WHERE digest = $1 ORDER BY pinned_unix_ns, reason";
        let rows: Vec<(String, i64)> = sqlx::query_as(sql).bind(digest).fetch_all(self.database.pool()).await?;
        Ok(rows.into_iter().map(|(reason, pinned_unix_ns)| Pin { reason, pinned_unix_ns }).collect())
    }
}
