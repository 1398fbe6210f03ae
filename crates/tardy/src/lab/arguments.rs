//! The options that name an index and its archives.

use crate::archives::RUNS;
use crate::exit::UsageError;
use clap::Args;
use std::path::PathBuf;
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

impl StoreOption {
    /// Opens the index.
    ///
    /// # Errors
    /// A [`UsageError`] for an address of another kind; otherwise those of the database.
    pub async fn open(&self) -> anyhow::Result<Store> {
        let address = Address::parse(&self.store, &self.archives).map_err(|error| match error {
            StoreError::Address(_) => anyhow::Error::from(UsageError(error.to_string())),
            other => other.into(),
        })?;
        Ok(Store::open(&address).await?)
    }
}
