//! The options that name an index and its archives.

use crate::archives::RUNS;
use crate::exit::UsageError;
use clap::Args;
use std::path::{Path, PathBuf};
use store::{Address, Store, StoreError};

/// Where the index is.
#[derive(Debug, Clone, Args)]
pub struct StoreOption {
    /// The index: a directory of archives, or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE", default_value = RUNS)]
    store: String,
    /// Directory of archives, if the index is not in it
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    archives: PathBuf,
}

/// What every verb of the index takes.
#[derive(Debug, Args)]
pub struct IndexArguments {
    #[command(flatten)]
    pub store: StoreOption,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

impl StoreOption {
    /// Opens the index.
    ///
    /// # Errors
    /// A [`UsageError`] for an address of another kind; otherwise those of the database.
    pub async fn open(&self) -> anyhow::Result<Store> {
        let address = address(&self.store, &self.archives)?;
        Ok(Store::open(&address).await?)
    }
}

/// The index that a command line names, of the archives in a directory.
///
/// # Errors
/// A [`UsageError`] for an address of another kind.
pub fn address(store: &str, archives: &Path) -> anyhow::Result<Address> {
    Address::parse(store, archives).map_err(|error| match error {
        StoreError::Address(_) => UsageError(error.to_string()).into(),
        other => other.into(),
    })
}
