//! What every request needs: the data, the tokens, the limits.

use crate::access::Tokens;
use crate::guard::Rates;
use crate::limits::Limits;
use archive::summary::ReportData;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;

/// Why the archive of a run is not shown.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct ReadError(pub String);

/// What the server asks of the program that starts it: opening archives and having them explained.
pub trait Archives: Send + Sync + 'static {
    /// Everything the report of an archive shows. It may take seconds, for traces that are not explained yet.
    ///
    /// # Errors
    /// If there is no archive in this directory.
    fn report(&self, archive: &Path) -> Result<ReportData, ReadError>;
}

/// What is served, and to whom.
pub struct Site {
    /// Directory of the lab.
    pub directory: PathBuf,
    pub archives: Arc<dyn Archives>,
    pub tokens: Tokens,
    /// Names under which clients may address the server, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    pub limits: Limits,
    rates: Rates,
}

impl Site {
    pub fn new(directory: PathBuf, archives: Arc<dyn Archives>) -> Self {
        let limits = Limits::default();
        Self { directory, archives, tokens: Tokens::default(), hosts: Vec::new(), limits, rates: Rates::default() }
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.rates
    }
}
