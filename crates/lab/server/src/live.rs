//! Runs in progress: what is known so far, from archives that grow. All readers of a run share one look at its archive, and
//! nothing is read while nobody looks.

use crate::problem::Refusal;
use crate::site::Site;
use archive::explanation::Explanation;
use archive::histogram::Histogram;
use archive::message::RunPhase;
use archive::reader::Run;
use archive::summary::RunSummary;
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::Outline;
use tokio::sync::watch;
use utoipa::ToSchema;

/// Shortest time between two looks, and the share of the time that looking may take: a long run takes long to read.
const PACE: Duration = Duration::from_secs(1);
const PAUSE_OF_LOOK: u32 = 10;
/// Newest spikes that are shown.
const SPIKES_SHOWN: usize = 20;
/// Spikes that are explained in one look.
const EXPLAINED_AT_ONCE: usize = 2;

/// A run in progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct LiveRun {
    /// Its name in addresses.
    pub run: String,
    pub board: String,
    pub kernel: String,
    pub loads: Vec<String>,
    /// What the meter does: `check`, `prepare`, `load`, `settle`, `measure`, `collect` or `restore`.
    #[schema(value_type = Option<String>)]
    pub phase: Option<RunPhase>,
    /// False once it has ended; then the lab has its report.
    pub goes_on: bool,
    pub started_unix_ns: Option<i64>,
    /// The length that was requested, in ns.
    pub requested_ns: Option<u64>,
    pub samples: u64,
    pub latency_ns_max: Option<i64>,
    pub limit_ns: Option<i64>,
    pub over_limit: u64,
    pub missed_periods: u64,
    pub cpus: Vec<LiveCpu>,
    /// The histogram of all CPUs.
    pub outline: Outline,
    pub spikes_count: u64,
    /// The newest 20, newest first.
    pub spikes: Vec<LiveSpike>,
}

/// One measuring thread.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LiveCpu {
    pub cpu: u32,
    pub samples: u64,
    pub latency_ns_max: Option<i64>,
    pub over_limit: u64,
}

/// A late wake-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LiveSpike {
    pub number: u32,
    pub cpu: u32,
    pub latency_ns: i64,
    /// `None` until it is explained; on a machine whose every CPU is measured that is after the run.
    pub cause: Option<String>,
}

impl LiveRun {
    fn of(name: &str, run: &Run, explained: &BTreeMap<u32, Explanation>) -> Self {
        let explanations: Vec<Explanation> = explained.values().cloned().collect();
        let summary = RunSummary::of(run, &explanations);
        let mut all = Histogram::default();
        run.threads.values().for_each(|thread| all.merge(&thread.histogram));
        let settings = summary.settings.as_ref();
        let cpu = |thread: &archive::reader::ThreadRun| LiveCpu {
            cpu: thread.cpu,
            samples: thread.totals.cycles,
            latency_ns_max: thread.totals.latency_ns_max,
            over_limit: thread.totals.over_limit,
        };
        let sum = |of: fn(&archive::sample::Totals) -> u64| {
            run.threads.values().map(|thread| of(&thread.totals)).fold(0, u64::saturating_add)
        };
        let spike = |spike: &archive::spike::Spike| LiveSpike {
            number: spike.number,
            cpu: spike.sample.cpu,
            latency_ns: spike.sample.latency_ns,
            cause: explained.get(&spike.number).map(|explanation| report::account::culprit(Some(explanation))),
        };
        let local = summary.target == "local";
        let host = run.environment.as_ref().map(|environment| environment.hostname.clone());
        Self {
            run: name.to_owned(),
            board: host.filter(|_| local).unwrap_or_else(|| summary.target.clone()),
            kernel: run.environment.as_ref().map(|of| of.kernel_release.clone()).unwrap_or_default(),
            loads: report::account::loads(&summary),
            phase: run.phases.last().map(|(phase, _)| *phase),
            goes_on: summary.goes_on,
            started_unix_ns: summary.started_unix_ns,
            requested_ns: settings.and_then(|settings| settings.duration_ns),
            samples: sum(|totals| totals.cycles),
            latency_ns_max: run.threads.values().filter_map(|thread| thread.totals.latency_ns_max).max(),
            limit_ns: settings.and_then(|settings| settings.limit_ns),
            over_limit: sum(|totals| totals.over_limit),
            missed_periods: sum(|totals| totals.missed_periods),
            cpus: run.threads.values().map(cpu).collect(),
            outline: Outline::of(&all),
            spikes_count: run.late_spikes().count() as u64 + run.spikes_left_out,
            spikes: run.late_spikes().collect::<Vec<_>>().into_iter().rev().take(SPIKES_SHOWN).map(spike).collect(),
        }
    }
}

/// The runs in progress by name, and the looks at them that go on.
#[derive(Debug, Default)]
pub struct Lives {
    running: Mutex<BTreeMap<String, PathBuf>>,
    looks: Mutex<HashMap<String, watch::Receiver<Option<Arc<LiveRun>>>>>,
}

impl Lives {
    /// Adds a run in progress.
    pub fn add(&self, directory: &Path, path: &Path) {
        locked(&self.running).insert(name(directory, path), path.to_owned());
    }

    /// Replaces the runs in progress.
    pub fn set(&self, directory: &Path, running: impl Iterator<Item = PathBuf>) {
        let named = running.map(|path| (name(directory, &path), path));
        *locked(&self.running) = named.collect();
    }

    /// Names of the runs in progress.
    pub fn names(&self) -> Vec<String> {
        locked(&self.running).keys().cloned().collect()
    }
}

/// The name of an archive in addresses: no path comes from a request.
fn name(directory: &Path, archive: &Path) -> String {
    let inside = archive.strip_prefix(directory).unwrap_or(archive);
    let digest = Sha256::digest(inside.as_os_str().as_encoded_bytes());
    digest[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is known of a run in progress, and its further states as they come; the sender ends with the run.
///
/// # Errors
/// If no run of this name is in progress.
pub async fn follow(site: &Arc<Site>, name: &str) -> Result<watch::Receiver<Option<Arc<LiveRun>>>, Refusal> {
    let path = locked(&site.lives().running).get(name).cloned();
    let path = path.ok_or_else(|| Refusal::NotRunning(name.to_owned()))?;
    let mut looks = locked(&site.lives().looks);
    if let Some(look) = looks.get(name) {
        return Ok(look.clone());
    }
    let (sender, receiver) = watch::channel(None);
    looks.insert(name.to_owned(), receiver.clone());
    tokio::spawn(look(Arc::clone(site), name.to_owned(), path, sender));
    Ok(receiver)
}

/// The newest state of a run in progress.
///
/// # Errors
/// If no run of this name is in progress.
pub async fn newest(site: &Arc<Site>, name: &str) -> Result<Arc<LiveRun>, Refusal> {
    let mut states = follow(site, name).await?;
    let state = states.wait_for(Option::is_some).await.map_err(|_| Refusal::NotRunning(name.to_owned()))?;
    state.clone().ok_or(Refusal::Defect)
}

/// Looks at an archive until its run has ended or nobody waits for it.
async fn look(site: Arc<Site>, name: String, path: PathBuf, sender: watch::Sender<Option<Arc<LiveRun>>>) {
    let mut explained = BTreeMap::new();
    loop {
        let (started, reader) = (Instant::now(), Arc::clone(&site));
        let (named, archive) = (name.clone(), path.clone());
        let read = site.at_work(move || {
            let run = Run::open_without_seconds(&archive).ok()?;
            explain(&reader, &run, &mut explained);
            Some((LiveRun::of(&named, &run, &explained), explained))
        });
        let Ok(Some((state, kept))) = read.await else { break };
        explained = kept;
        let goes_on = state.goes_on;
        sender.send_replace(Some(Arc::new(state)));
        if !goes_on {
            break;
        }
        tokio::time::sleep(PACE.max(started.elapsed() * PAUSE_OF_LOOK)).await;
        let mut looks = locked(&site.lives().looks);
        // The map has one receiver; under its lock no other can be made.
        if sender.receiver_count() <= 1 {
            looks.remove(&name);
            return;
        }
    }
    locked(&site.lives().looks).remove(&name);
}

/// Explains a few of the newest spikes that are not yet explained, where that disturbs no measurement.
fn explain(site: &Site, run: &Run, explained: &mut BTreeMap<u32, Explanation>) {
    let newest: Vec<u32> = run.late_spikes().map(|spike| spike.number).collect();
    let shown = newest.iter().rev().take(SPIKES_SHOWN);
    let missing: Vec<u32> = shown.filter(|number| !explained.contains_key(*number)).copied().collect();
    for number in missing.into_iter().take(EXPLAINED_AT_ONCE) {
        explained.extend(site.archives().explain(run, number).map(|explanation| (number, explanation)));
    }
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
