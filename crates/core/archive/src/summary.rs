//! The document that `--json`, the report and the index show: a run condensed, with its explanations beside its spikes.

mod bars;
mod counted;
mod counted_limit;
mod figures;
mod headline;
mod roles;
mod stimulus;

pub use bars::{CpuHistogram, HistogramBar};
pub use counted::{BESIDE_NS, CountedText, PrintedLine, SpikeBeside};
pub use counted_limit::CountedLimit;
pub use figures::LatencyFigures;
pub use headline::headline;
pub use roles::RoleSummary;
pub use stimulus::StimulusBoardSummary;

use crate::causes::RunCauses;
use crate::chain::ChainAccount;
use crate::counters::{CounterSecond, CounterSummary, condensed};
use crate::damage::Damage;
use crate::effective::EffectiveSettings;
use crate::environment::Environment;
use crate::explanation::Explanation;
use crate::lateness::PeriodLateness;
use crate::manifest::{ImportedFrom, LOCAL, RunState};
use crate::message::{Ending, LoadReport, Loss, Problem, RunPhase, Severity};
use crate::problem::Remark;
use crate::reader::{Run, ThreadRun};
use crate::sample::Sample;
use crate::second_records::SecondRecords;
use crate::settings::RunSettings;
use crate::spike::Spike;
use crate::storage::StorageAccount;
use crate::tracer::{KernelSample, KernelSeries, KernelSource, LatencyTrace};
use crate::watched::WatchedSeries;
use bars::cpu_histogram;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Version of this document.
pub const SUMMARY_VERSION: u32 = 1;

/// One measuring thread, condensed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CpuSummary {
    pub thread: u32,
    pub cpu: u32,
    pub cycles: u64,
    /// Periods without a wake-up because the thread was late by more than an interval.
    /// `None`: an imported run whose source does not count them.
    pub missed: Option<u64>,
    pub over_limit: u64,
    pub clock_anomalies: u64,
    pub records_dropped: u64,
    pub latency_ns: LatencyFigures,
    pub worst: Option<Sample>,
    /// Description of the series, for a watched thread.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub watched: Option<WatchedSeries>,
    /// The thread has no real-time policy and others of the watched program have one: it decides nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub aside: bool,
}

/// Figures of one of the kernel's own sources on one CPU, condensed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelSeriesSummary {
    pub source: KernelSource,
    /// The measured quantity, such as `timerlat irq`.
    pub name: String,
    pub cpu: u32,
    pub count: u64,
    /// Figures of the values that the kernel recorded: all for `timerlat` and `osnoise`, those above a threshold for
    /// `hwlat`.
    pub latency_ns: LatencyFigures,
    pub worst: Option<KernelSample>,
    pub records_lost: u64,
}

impl KernelSeriesSummary {
    fn of(series: &KernelSeries) -> Self {
        let mean = (series.count > 0).then(|| series.sum_ns as f64 / series.count as f64);
        Self {
            source: series.source,
            name: series.name.clone(),
            cpu: series.cpu,
            count: series.count,
            latency_ns: LatencyFigures::of(
                &PeriodLateness::of_samples(&series.histogram, 0),
                1,
                series.min_ns,
                mean,
                series.max_ns,
            ),
            worst: series.worst.first().copied(),
            records_lost: series.records_lost,
        }
    }
}

/// A spike with its explanation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpikeSummary {
    #[serde(flatten)]
    pub spike: Spike,
    pub latency_ns: i64,
    /// Whether it counts as a spike, see [`Run::is_late`]; the others are captured ordinary wake-ups.
    #[serde(default = "late_in_older_documents")]
    pub late: bool,
    pub explanation: Option<Explanation>,
}

fn late_in_older_documents() -> bool {
    true
}

/// Duration of a whole run in virtual time, including the guest's boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct VirtualSpeed {
    /// By the guest's clock, in ns. It includes idle time, which was skipped, not waited for.
    pub guest_ns: i64,
    /// By the host's clock, in ns.
    pub host_ns: i64,
}

impl VirtualSpeed {
    fn of(run: &Run) -> Option<Self> {
        let manifest = run.manifest.as_ref().filter(|manifest| manifest.virtual_time)?;
        let (_, guest_ns) = run.ending?;
        Some(Self { guest_ns, host_ns: manifest.ended_unix_ns?.saturating_sub(manifest.started_unix_ns) })
    }

    /// Seconds of the guest's clock per second of the host's.
    pub fn guest_per_host(self) -> f64 {
        self.guest_ns as f64 / self.host_ns.max(1) as f64
    }
}

/// A run, condensed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RunSummary {
    pub summary_version: u32,
    pub id: String,
    /// Path of the archive this was made from.
    pub archive: String,
    pub state: RunState,
    /// It is [`RunState::Running`], and a process on this machine is writing the archive; if false, the run was cut
    /// off. The page does not use it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub goes_on: bool,
    /// Whether the figures may be used for what was requested.
    pub valid: bool,
    /// Why not.
    pub invalid_because: Vec<Remark>,
    pub target: String,
    /// A program emulated the machine: its latencies are meaningless as real-time figures.
    #[serde(default)]
    pub emulated: bool,
    /// The machine's clock counted the instructions it executed; `emulated` is true as well.
    #[serde(default)]
    pub virtual_time: bool,
    /// Ingredients of a machine in virtual time, see [`crate::manifest::Manifest::ingredients`].
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub ingredients: BTreeMap<String, String>,
    /// For a completed run in virtual time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(optional))]
    pub virtual_speed: Option<VirtualSpeed>,
    pub command: Vec<String>,
    pub tool_version: String,
    pub meter_version: Option<String>,
    pub started_unix_ns: Option<i64>,
    /// Set if another tool measured: `valid` then only means that nothing contradicts the figures.
    pub imported: Option<ImportedFrom>,
    /// Length of the measuring phase, in ns.
    pub measured_ns: Option<i64>,
    /// CLOCK_MONOTONIC of the first counted second, in ns.
    pub measure_start_ns: Option<i64>,
    pub settings: Option<RunSettings>,
    pub effective: Option<EffectiveSettings>,
    /// The recorders during the measurement, see [`EffectiveSettings::tracing`]; `None` if unknown.
    #[serde(default)]
    pub tracing: Option<String>,
    pub environment: Option<Environment>,
    pub cpus: Vec<CpuSummary>,
    /// All CPUs together; for watched threads their timer wake-ups, or the others if no timer woke any.
    pub all_cpus: LatencyFigures,
    /// Spikes first, then ordinary wake-ups, controls last; the largest of each first.
    pub spikes: Vec<SpikeSummary>,
    pub loads: Vec<LoadReport>,
    /// Texts that were counted in the output of a watched command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountedText>,
    /// Figures of the external board that gave the stimuli.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub stimulus_board: Option<StimulusBoardSummary>,
    /// Figures of the other machines of the same measurement.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub roles: Vec<RoleSummary>,
    /// Counts of the kernel over the whole run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counters: Vec<CounterSummary>,
    /// Measured by the kernel itself; by name, then CPU.
    #[serde(default)]
    pub kernel_series: Vec<KernelSeriesSummary>,
    /// Recorded by a kernel latency tracer; longest first.
    #[serde(default)]
    pub latency_traces: Vec<LatencyTrace>,
    /// Where the time of block requests went, if it was recorded and read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub storage: Option<StorageAccount>,
    /// Chains that a watch followed, in the traces that it kept.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub chains: Vec<ChainAccount>,
    pub losses: Vec<Loss>,
    pub problems: Vec<Problem>,
    /// Missing and damaged parts of the archive.
    pub gaps: Vec<Remark>,
}

/// Everything a report shows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ReportData {
    pub summary: RunSummary,
    pub histograms: Vec<CpuHistogram>,
    #[cfg_attr(feature = "typescript", ts(as = "Vec<crate::sample::Second>"))]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<crate::sample::Second>"))]
    pub seconds: SecondRecords,
    /// Counts of the kernel, about once a second. The page shows it as HTML only.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub counters: Vec<CounterSecond>,
    /// Common features of the spikes, if requested. The page shows it as HTML only.
    #[serde(default)]
    #[cfg_attr(feature = "typescript", ts(skip))]
    pub causes: Option<RunCauses>,
}

impl RunSummary {
    /// Condenses an opened run; `explanations` may be empty.
    pub fn of(run: &Run, explanations: &[Explanation]) -> Self {
        Self::figures(run).explained(explanations)
    }

    fn figures(run: &Run) -> Self {
        let manifest = run.manifest.as_ref();
        let state = manifest.map_or(RunState::Failed, |manifest| manifest.state);
        let imported = manifest.and_then(|manifest| manifest.imported.as_ref());
        let step_ns = step_ns(run);
        let invalid_because = invalidities(run, state);
        let mut all = PeriodLateness::default();
        headline(run).for_each(|thread| all.merge(&lateness(run, thread)));
        let totals = || headline(run).map(|thread| &thread.totals);
        let cycles = totals().map(|t| t.cycles).fold(0, u64::saturating_add);
        let sum: f64 = totals().map(|t| t.latency_ns_sum as f64).sum();
        let start = phase_start(run, RunPhase::Measure);
        let end = phase_start(run, RunPhase::Collect).or(run.ending.map(|(_, at)| at));
        Self {
            summary_version: SUMMARY_VERSION,
            id: manifest.map_or_else(|| directory_name(run), |manifest| manifest.id.clone()),
            archive: run.directory.display().to_string(),
            state,
            goes_on: run.goes_on && state == RunState::Running,
            valid: invalid_because.is_empty(),
            invalid_because,
            target: manifest.map_or_else(String::new, |manifest| manifest.target.clone()),
            emulated: manifest.is_some_and(|manifest| manifest.emulated),
            virtual_time: manifest.is_some_and(|manifest| manifest.virtual_time),
            ingredients: manifest.map(|manifest| manifest.ingredients.clone()).unwrap_or_default(),
            virtual_speed: VirtualSpeed::of(run),
            command: manifest.map_or_else(Vec::new, |manifest| manifest.command.clone()),
            tool_version: manifest.map_or_else(String::new, |manifest| manifest.tool_version.clone()),
            meter_version: run.meter_version.clone(),
            started_unix_ns: manifest.and_then(|manifest| match &manifest.imported {
                Some(imported) => imported.started_unix_ns,
                None => Some(manifest.started_unix_ns),
            }),
            imported: imported.cloned(),
            measured_ns: start.zip(end).map(|(start, end)| end.saturating_sub(start)),
            measure_start_ns: start,
            settings: manifest.and_then(|manifest| manifest.settings.clone()),
            effective: run.effective.clone(),
            tracing: run.effective.as_ref().map(EffectiveSettings::tracing),
            environment: run.environment.clone(),
            cpus: run.threads.values().map(|thread| cpu_summary(run, thread, imported.is_some(), step_ns)).collect(),
            all_cpus: LatencyFigures::of(
                &all,
                step_ns,
                totals().filter_map(|t| t.latency_ns_min).min(),
                (cycles > 0).then(|| sum / cycles as f64),
                totals().filter_map(|t| t.latency_ns_max).max(),
            ),
            spikes: spike_summaries(run),
            loads: run.loads.clone(),
            counted: counted::counted(run, start),
            stimulus_board: run.stimulus_board.as_ref().map(StimulusBoardSummary::of),
            roles: run.roles.values().map(|figures| RoleSummary::of(figures, run.boot_id.as_deref())).collect(),
            counters: condensed(&run.counters),
            kernel_series: kernel_series(run),
            latency_traces: latency_traces(run),
            storage: None,
            chains: Vec::new(),
            losses: run.losses.clone(),
            problems: run.problems.clone(),
            gaps: run.gaps.clone(),
        }
    }
}

impl RunSummary {
    /// The same with these explanations beside their spikes. The first explanation of a spike counts.
    pub fn explained(mut self, explanations: &[Explanation]) -> Self {
        let by_number: BTreeMap<u32, &Explanation> = explanations.iter().rev().map(|one| (one.spike, one)).collect();
        for entry in &mut self.spikes {
            entry.explanation = by_number.get(&entry.spike.number).copied().cloned();
        }
        self
    }

    /// The threads whose samples decide, and by which limits are judged.
    pub fn deciding(&self) -> impl Iterator<Item = &CpuSummary> {
        self.cpus.iter().filter(|cpu| !cpu.aside)
    }

    /// The name of the target unless that was this machine.
    pub fn other_machine(&self) -> Option<&str> {
        Some(self.target.as_str()).filter(|target| !target.is_empty() && *target != LOCAL && self.imported.is_none())
    }

    /// The spikes, largest first.
    pub fn late_spikes(&self) -> impl Iterator<Item = &SpikeSummary> {
        self.spikes.iter().filter(|entry| entry.late)
    }
}

impl ReportData {
    /// Collects everything a report shows, with at most 400 histogram bars per thread.
    pub fn of(run: &Run, explanations: &[Explanation]) -> Self {
        Self::with(run, RunSummary::of(run, explanations))
    }

    /// The same beside a summary of the run that was made before.
    pub fn with(run: &Run, summary: RunSummary) -> Self {
        let mut seconds = SecondRecords::default();
        run.threads.values().for_each(|thread| seconds.append(&thread.seconds));
        Self {
            summary,
            histograms: run.threads.values().map(|thread| cpu_histogram(thread, 400, step_ns(run))).collect(),
            seconds,
            counters: run.counters.clone(),
            causes: None,
        }
    }
}

fn directory_name(run: &Run) -> String {
    run.directory.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

fn phase_start(run: &Run, phase: RunPhase) -> Option<i64> {
    run.phases.iter().find(|(name, _)| *name == phase).map(|(_, at)| *at)
}

fn invalidities(run: &Run, state: RunState) -> Vec<Remark> {
    let mut reasons: Vec<Remark> =
        run.problems.iter().filter(|problem| problem.severity == Severity::Invalid).map(Remark::from).collect();
    if matches!(state, RunState::Failed) {
        let problem = run.manifest.as_ref().and_then(|manifest| manifest.problem.as_ref());
        match problem.map(Remark::from) {
            // The failure is often the last problem, which is already listed.
            Some(why) if reasons.contains(&why) => {}
            Some(why) => reasons.push(why),
            None => reasons.push(Remark::new(&Damage::RunFailed)),
        }
    }
    if matches!(run.ending, Some((Ending::Failed, _))) && reasons.is_empty() {
        reasons.push(Remark::new(&Damage::MeterFailed));
    }
    if run.threads.is_empty() || run.threads.values().any(|thread| thread.totals.cycles == 0) {
        let watched = run.manifest.as_ref().and_then(|manifest| manifest.settings.as_ref()?.watch.as_ref()).is_some();
        reasons.push(Remark::new(match watched {
            true => &Damage::NothingWatched,
            false if run.is_stretch() => &Damage::OneStretch,
            false => &Damage::NoSamples,
        }));
    }
    reasons
}

/// Latencies are multiples of this in ns: 1, or the resolution of an imported run.
fn step_ns(run: &Run) -> i64 {
    let imported = run.manifest.as_ref().and_then(|manifest| manifest.imported.as_ref());
    imported.and_then(|imported| i64::try_from(imported.resolution_ns).ok()).unwrap_or(1).max(1)
}

/// How late the periods of a thread were. Samples of an imported run that are counted but in no bucket are unknown; a
/// watched thread that armed its timer late says nothing about its wake-ups.
fn lateness(run: &Run, thread: &ThreadRun) -> PeriodLateness {
    let manifest = run.manifest.as_ref();
    let beyond = thread.totals.cycles.saturating_sub(thread.histogram.total());
    let periods = run.lateness(thread);
    match manifest {
        Some(manifest) if manifest.imported.is_some() => PeriodLateness { unknown: beyond, ..periods },
        _ if run.watched.contains_key(&thread.thread) => PeriodLateness { unknown: 0, ..periods },
        _ => periods,
    }
}

fn cpu_summary(run: &Run, thread: &ThreadRun, imported: bool, step_ns: i64) -> CpuSummary {
    let totals = &thread.totals;
    CpuSummary {
        thread: thread.thread,
        cpu: thread.cpu,
        cycles: totals.cycles,
        missed: (!imported).then_some(totals.missed_periods),
        over_limit: totals.over_limit,
        clock_anomalies: totals.clock_anomalies,
        records_dropped: totals.records_dropped,
        latency_ns: LatencyFigures::of(
            &lateness(run, thread),
            step_ns,
            totals.latency_ns_min,
            totals.latency_ns_mean(),
            totals.latency_ns_max,
        ),
        worst: totals.worst,
        watched: run.watched.get(&thread.thread).cloned(),
        aside: !run.decides(thread.thread),
    }
}

fn spike_summaries(run: &Run) -> Vec<SpikeSummary> {
    let mut spikes: Vec<SpikeSummary> = run
        .spikes
        .iter()
        .map(|spike| SpikeSummary {
            latency_ns: spike.sample.latency_ns,
            late: run.is_late(spike),
            explanation: None,
            spike: spike.clone(),
        })
        .collect();
    spikes.sort_by_key(|entry| {
        let control = entry.spike.reason == crate::spike::SpikeReason::Control;
        (!entry.late, control, std::cmp::Reverse(entry.latency_ns), entry.spike.number)
    });
    spikes
}

fn kernel_series(run: &Run) -> Vec<KernelSeriesSummary> {
    run.kernel_series.values().map(KernelSeriesSummary::of).collect()
}

fn latency_traces(run: &Run) -> Vec<LatencyTrace> {
    let mut traces = run.latency_traces.clone();
    traces.sort_by_key(|trace| (std::cmp::Reverse(trace.latency_ns), trace.number));
    traces
}
