//! An index over run archives: which boards there are, how each run of theirs went, and what changed.
//!
//! The archives are the truth: [`Store::rebuild`] makes what the index says of runs again from them. The index is SQL with one text for
//! SQLite, a file beside the archives, and PostgreSQL, a server of a lab. Every answer is a serde type without a path of
//! this machine in it; pages and `--json` show it as it is.
//!
//! * [`Address`] names an index and its archives; [`Store::open`] opens both and updates the schema.
//! * [`ObjectsAddress`] names an object store that has the archives; the directory is a copy then.
//! * [`Store::ingest`] adds an archive. Adding it twice, at once or after a crash leaves it there once.
//! * [`PackedArchive`] is an archive to send, [`Store::receive`] takes one from a stream.
//! * [`queries`] answers what pages ask: fleet, history of a board, a run, series, culprits.
//! * [`queue`] has plans to run on boards, and the leases of the workers that run them.
//! * [`changes`] are places where a figure changed its level, with their triage.
//! * [`alerts`] are the messages about them, each sent once.
//! * [`Store::prunable`] lists runs whose raw traces nothing needs, [`Store::prune`] removes these, [`Store::pin`] keeps them.
//!
//! It judges and explains nothing: verdict and explanations come from the [`account`] of a run.

pub mod actions;
mod address;
pub mod alerts;
mod artefacts;
pub mod changes;
mod database;
mod digest;
mod error;
mod form;
pub mod health;
pub mod hmac;
mod holds;
mod ingest;
pub mod kernel_line;
mod label;
mod migrations;
mod new_rows;
mod objects;
#[cfg(feature = "parquet")]
pub mod open_data;
mod outline;
mod packing;
mod pins;
mod pruning;
pub mod queries;
pub mod queue;
mod rebuild;
mod receiving;
mod record;
mod refused;
mod retention;
mod row;
mod standing;
mod stored_histogram;
mod summable;
mod unique_name;

pub use address::{Address, index_options};
pub use error::StoreError;
pub use ingest::{Ingested, Outcome};
pub use label::label;
pub use objects::ObjectsAddress;
pub use outline::{Bar, Outline};
pub use packing::PackedArchive;
pub use pins::Pin;
pub use pruning::Pruned;
pub use rebuild::{LeftOut, Rebuilt};
pub use refused::Refused;
pub use retention::{KeptBecause, Prunable, Retention};
pub use standing::Standing;

use artefacts::Artefacts;
use database::Database;
use objects::Objects;
use std::path::Path;

/// An open index with its archives. Clones share their connections.
#[derive(Debug, Clone)]
pub struct Store {
    database: Database,
    artefacts: Artefacts,
    objects: Option<Objects>,
}

impl Store {
    /// Opens the index at an address, makes it if it is a file that is missing, and updates its schema. An object
    /// store is not asked until an archive is added or needed.
    ///
    /// # Errors
    /// [`StoreError::Database`] if the database cannot be opened, [`StoreError::DiskFull`] if its disk is full,
    /// [`StoreError::Io`] if the directory of archives cannot be made.
    pub async fn open(address: &Address) -> Result<Self, StoreError> {
        let artefacts = Artefacts::open(&address.archives)?;
        let database = Database::open(&address.url(artefacts.root()), artefacts.root()).await?;
        migrations::run(&database).await?;
        let objects = address.objects.as_ref().map(Objects::open).transpose()?;
        Ok(Self { database, artefacts, objects })
    }

    /// The clock of the index in ns since 1970: that of the database server, if there is one.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn now_unix_ns(&self) -> Result<i64, StoreError> {
        self.database.now_unix_ns().await
    }

    /// The directory of archives.
    pub fn archives(&self) -> &Path {
        self.artefacts.root()
    }
}
