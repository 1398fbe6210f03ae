//! The state of a run in progress, as pages and API show it, from an archive that grows.

mod reading;
mod running;

use archive::explanation::Explanation;
use archive::histogram::Histogram;
use archive::message::RunPhase;
use archive::reader::Run;
use archive::summary::{RunSummary, headline};
use serde::Serialize;
use std::collections::BTreeMap;
use store::Outline;
use utoipa::ToSchema;
use words::vocabulary::watched_series;

pub use reading::{follow, newest};
pub use running::RunningRuns;

/// Newest spikes that are shown.
const SPIKES_SHOWN: usize = 20;

/// A run in progress.
#[derive(Debug, Clone, Default, PartialEq, Serialize, ToSchema)]
pub struct LiveRun {
    /// Its name in addresses.
    pub run: String,
    pub board: String,
    pub kernel: String,
    pub loads: Vec<String>,
    /// Phase of the meter: `check`, `prepare`, `load`, `settle`, `measure`, `collect` or `restore`.
    #[schema(value_type = Option<String>)]
    pub phase: Option<RunPhase>,
    /// False once it has ended; then the lab has its report.
    pub goes_on: bool,
    pub started_unix_ns: Option<i64>,
    /// When measuring began; `None` before.
    pub measuring_since_unix_ns: Option<i64>,
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
    /// The series of a watched thread; a CPU otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    pub samples: u64,
    pub latency_ns_max: Option<i64>,
    pub over_limit: u64,
}

/// A late wake-up.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct LiveSpike {
    pub number: u32,
    pub cpu: u32,
    /// The series of the watched thread; a measuring thread has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub series: Option<String>,
    pub latency_ns: i64,
    /// `None` until it is explained; on a machine whose every CPU is measured that is after the run.
    pub cause: Option<String>,
}

impl LiveRun {
    fn of(name: &str, run: &Run, explained: &BTreeMap<u32, Explanation>) -> Self {
        let explanations: Vec<Explanation> = explained.values().cloned().collect();
        let summary = RunSummary::of(run, &explanations);
        let mut all = Histogram::default();
        headline(run).for_each(|thread| all.merge(&thread.histogram));
        let settings = summary.settings.as_ref();
        let cpu = |thread: &archive::reader::ThreadRun| LiveCpu {
            cpu: thread.cpu,
            series: run.watched.get(&thread.thread).map(watched_series),
            samples: thread.totals.cycles,
            latency_ns_max: thread.totals.latency_ns_max,
            over_limit: thread.totals.over_limit,
        };
        let sum = |of: fn(&archive::sample::Totals) -> u64| {
            headline(run).map(|thread| of(&thread.totals)).fold(0, u64::saturating_add)
        };
        let spike = |spike: &archive::spike::Spike| LiveSpike {
            number: spike.number,
            cpu: spike.sample.cpu,
            series: run.watched.get(&spike.thread).map(watched_series),
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
            measuring_since_unix_ns: measuring_since(run, summary.started_unix_ns),
            requested_ns: settings.and_then(|settings| settings.duration_ns),
            samples: sum(|totals| totals.cycles),
            latency_ns_max: summary.all_cpus.max,
            limit_ns: settings.and_then(|settings| settings.limit_ns),
            over_limit: summary.limited_samples().0,
            missed_periods: sum(|totals| totals.missed_periods),
            cpus: run.threads.values().map(cpu).collect(),
            outline: Outline::of(&all),
            spikes_count: run.late_spikes().count() as u64 + run.spikes_left_out,
            spikes: run.late_spikes().collect::<Vec<_>>().into_iter().rev().take(SPIKES_SHOWN).map(spike).collect(),
        }
    }
}

/// Phases are dated by the monotonic clock of the target, and the first of them is near the start of the run.
fn measuring_since(run: &Run, started_unix_ns: Option<i64>) -> Option<i64> {
    let (_, first_ns) = run.phases.first()?;
    let (_, measure_ns) = run.phases.iter().find(|(phase, _)| *phase == RunPhase::Measure)?;
    Some(started_unix_ns?.saturating_add(measure_ns.saturating_sub(*first_ns)))
}
