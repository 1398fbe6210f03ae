//! The options that name an index and its archives.

use crate::archives::RUNS;
use crate::exit::UsageError;
use clap::Args;
use std::path::{Path, PathBuf};
use store::{Address, ObjectsAddress, Store, StoreError, index_options};

/// Where the index is.
#[derive(Debug, Clone, Args)]
pub struct StoreOption {
    /// The index: a directory of archives, or postgres://USER@HOST/DATABASE
    #[arg(long, value_name = "STORE", default_value = RUNS)]
    store: String,
    /// Directory of archives, if the index is not in it
    #[arg(long, value_name = "DIR", default_value = RUNS)]
    archives: PathBuf,
    /// Keep the archives in an S3-compatible object store, s3://BUCKET/PREFIX; DIR has copies then
    #[arg(long, value_name = "URL")]
    artefacts: Option<String>,
}

/// Options of every verb of the index.
#[derive(Debug, Args)]
pub struct IndexArguments {
    #[command(flatten)]
    pub store: StoreOption,
    /// Print one JSON document instead of text
    #[arg(long)]
    pub json: bool,
}

impl StoreOption {
    /// The options of another command that uses the same index, each after a space; empty where it needs none.
    pub fn words(&self) -> String {
        let archives = self.archives.to_string_lossy();
        let [store, archives] = [&*self.store, &*archives].map(|value| Some(value).filter(|value| *value != RUNS));
        let options = index_options(store, archives, self.artefacts.as_deref());
        if options.is_empty() { options } else { format!(" {options}") }
    }

    /// Opens an index to read it: makes none.
    ///
    /// # Errors
    /// A [`UsageError`] for an address of another kind and for an index that is missing; otherwise an error of the database.
    pub async fn open_existing(&self) -> anyhow::Result<Store> {
        let address = address(&self.store, &self.archives, self.artefacts.as_deref())?;
        if !address.is_there() {
            let directory = address.archives.display();
            let fix = format!("`tardy lab store ingest RUN --store {directory}` makes it, --store names another");
            return Err(UsageError(format!("no index in {directory}; {fix}")).into());
        }
        Ok(Store::open(&address).await?)
    }

    /// Opens the index, and makes it if it is missing.
    ///
    /// # Errors
    /// A [`UsageError`] for an address of another kind; otherwise an error of the database.
    pub async fn open(&self) -> anyhow::Result<Store> {
        let address = address(&self.store, &self.archives, self.artefacts.as_deref())?;
        Ok(Store::open(&address).await?)
    }
}

/// The index that a command line names, of the archives in a directory, and of those in an object store.
///
/// # Errors
/// A [`UsageError`] for an address of another kind, and for an object store whose keys are not in the environment.
pub fn address(store: &str, archives: &Path, artefacts: Option<&str>) -> anyhow::Result<Address> {
    let parsed = Address::parse(store, archives).and_then(|mut address| {
        address.objects = objects(artefacts)?;
        Ok(address)
    });
    parsed.map_err(|error| UsageError(error.to_string()).into())
}

/// The object store that a command line names.
fn objects(artefacts: Option<&str>) -> Result<Option<ObjectsAddress>, StoreError> {
    artefacts.map(|url| ObjectsAddress::parse(url, |name| std::env::var(name).ok())).transpose()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_command_names_the_same_index() {
        let words = |store: &str, archives: &str, artefacts: Option<&str>| {
            let artefacts = artefacts.map(str::to_owned);
            StoreOption { store: store.into(), archives: archives.into(), artefacts }.words()
        };
        assert_eq!(words(RUNS, RUNS, None), "");
        assert_eq!(words("my lab", RUNS, None), " --store 'my lab'");
        assert_eq!(words("postgres://lab:hush@db/tardy", RUNS, None), " --store postgres://lab@db/tardy");
        let all = " --store lab --archives a --artefacts s3://lab/runs";
        assert_eq!(words("lab", "a", Some("s3://lab/runs")), all);
    }
}
