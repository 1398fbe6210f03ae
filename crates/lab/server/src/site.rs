//! An open lab, as requests use it: data, tokens, limits.

use crate::access::Tokens;
use crate::change_searches::ChangeSearches;
use crate::desk::DeskAccess;
use crate::experiments::ExperimentSeries;
use crate::guard::{Proxy, Rates};
use crate::known_archives::KnownArchives;
use crate::limits::Limits;
use crate::live::RunningRuns;
use crate::metrics::Requests;
use crate::problem::Refusal;
use crate::reports::Reports;
use archive::explanation::Explanation;
use archive::reader::Run;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use store::{Address, Store, StoreError};
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Reports that are made, and searches for changes that go on, at a time.
const WORKERS: usize = 2;

/// Why a plan cannot be queued.
#[derive(Debug, Error)]
#[error("{0}")]
pub struct PlanError(pub String);

/// Services of the program that starts the server: finding archives and experiments, checking plans, and whether explaining
/// disturbs a measurement.
pub trait Archives: Send + Sync + 'static {
    /// The archives below a directory.
    fn below(&self, directory: &Path) -> Vec<PathBuf>;

    /// The experiments below a directory, newest first.
    fn experiments(&self, _: &Path) -> Vec<ExperimentSeries> {
        Vec::new()
    }

    /// Explains a spike of a run in progress; `None` if its trace is not there yet, or explaining would disturb the measurement.
    fn explain(&self, run: &Run, spike: u32) -> Option<Explanation>;

    /// Whether a plan can be queued.
    ///
    /// # Errors
    /// The mistakes in its text.
    fn check_plan(&self, name: &str, text: &str) -> Result<(), PlanError>;
}

/// A lab to serve, and to whom.
pub struct Lab {
    /// New archives below it are added to the index.
    pub directory: PathBuf,
    pub index: Address,
    pub archives: Arc<dyn Archives>,
    pub tokens: Tokens,
    /// A proxy that logs people in.
    pub proxy: Option<Proxy>,
    /// Which changes are reported where.
    pub alerts: Option<alerts::Settings>,
    /// Names under which clients may address the server, beside addresses and `localhost`.
    pub hosts: Vec<String>,
    pub limits: Limits,
    /// A measurement of this machine with its page; only browsers that used its link are then let in.
    pub desk: Option<DeskAccess>,
}

impl Lab {
    /// A directory of archives with its index in it, for this machine alone.
    pub fn of(directory: PathBuf, archives: Arc<dyn Archives>) -> Self {
        let index = Address::directory(&directory);
        let (tokens, hosts, limits) = (Tokens::default(), Vec::new(), Limits::default());
        Self { directory, index, archives, tokens, proxy: None, alerts: None, hosts, limits, desk: None }
    }
}

/// An open lab.
pub struct Site {
    pub(crate) lab: Lab,
    store: Store,
    rates: Rates,
    requests: Requests,
    reports: Reports,
    change_searches: ChangeSearches,
    known_archives: KnownArchives,
    workers: Semaphore,
    uploads: Arc<Semaphore>,
    streams: Arc<Semaphore>,
    running_runs: RunningRuns,
}

impl Site {
    /// Opens the index of a lab.
    ///
    /// # Errors
    /// If it cannot be opened or updated.
    pub async fn open(lab: Lab) -> Result<Self, StoreError> {
        let store = Store::open(&lab.index).await?;
        let uploads = Arc::new(Semaphore::new(lab.limits.uploads));
        let streams = Arc::new(Semaphore::new(lab.limits.streams));
        Ok(Self {
            lab,
            store,
            rates: Rates::default(),
            requests: Requests::new(),
            reports: Reports::default(),
            change_searches: ChangeSearches::default(),
            known_archives: KnownArchives::default(),
            workers: Semaphore::new(WORKERS),
            uploads,
            streams,
            running_runs: RunningRuns::default(),
        })
    }

    /// The index.
    pub fn store(&self) -> &Store {
        &self.store
    }

    pub(crate) fn desk(&self) -> Option<&DeskAccess> {
        self.lab.desk.as_ref()
    }

    pub(crate) fn archives(&self) -> &dyn Archives {
        &*self.lab.archives
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.lab.directory
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.lab.limits
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.lab.tokens
    }

    pub(crate) fn rates(&self) -> &Rates {
        &self.rates
    }

    pub(crate) fn requests(&self) -> &Requests {
        &self.requests
    }

    pub(crate) fn reports(&self) -> &Reports {
        &self.reports
    }

    pub(crate) fn change_searches(&self) -> &ChangeSearches {
        &self.change_searches
    }

    pub(crate) fn known_archives(&self) -> &KnownArchives {
        &self.known_archives
    }

    /// A place for an upload; `None` if all are taken.
    pub(crate) fn place_for_upload(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.uploads).try_acquire_owned().ok()
    }

    /// A place for a stream of events; `None` if all are taken.
    pub(crate) fn place_for_stream(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.streams).try_acquire_owned().ok()
    }

    pub(crate) fn running_runs(&self) -> &RunningRuns {
        &self.running_runs
    }

    /// Does work that takes long on a thread of its own, little of it at a time.
    pub(crate) async fn at_work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Refusal> {
        self.working(tokio::task::spawn_blocking(work)).await?.map_err(|_| Refusal::Defect)
    }

    /// Waits for work that takes long, little of it at a time.
    pub(crate) async fn working<W: IntoFuture>(&self, work: W) -> Result<W::Output, Refusal> {
        let _place = self.workers.acquire().await.map_err(|_| Refusal::Defect)?;
        Ok(work.await)
    }
}
