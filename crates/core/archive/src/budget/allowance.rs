//! The most of each share that a run with some settings may take.

use super::share::Share;
use crate::counted::{LINE_LETTERS_MAX, LINES_KEPT_MAX};
use crate::settings::RunSettings;
use crate::tracer::LATENCY_TRACES_MAX;
use std::time::Duration;

/// CPUs of a machine whose CPUs the settings do not name. A larger one measures the CPUs that are named.
const CPUS_UNNAMED: u64 = 512;
/// Threads of a method on one CPU, and those that are on none.
const THREADS_PER_CPU: u64 = 4;
const THREADS_BESIDE: u64 = 64;
/// Series of a watched program.
const WATCHED_SERIES_MAX: u64 = 4096;
/// Series that one source of the kernel has on a CPU.
const SERIES_PER_SOURCE: u64 = 8;
/// Time that checks, preparations and the collection take beside the measurement, in s.
const SECONDS_BESIDE: u64 = 900;
/// Totals are sent after 1, 3, 7 ... s, later every ten minutes.
const CHECKPOINTS_FIRST: u64 = 32;
const CHECKPOINT_S: u64 = 300;
/// Most spikes a second: copying the trace takes longer than a millisecond.
const SPIKES_A_SECOND_MAX: u64 = 1000;
/// First maxima of a CPU come fast, each above the one before.
const FIRST_MAXIMA: u64 = 128;

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;

/// The quantities that decide it.
#[derive(Debug)]
pub(super) struct Allowance {
    cpus: u64,
    threads: u64,
    /// `None`: as long as the run lasts.
    seconds: Option<u64>,
    spikes_first: u64,
    spikes_a_second: u64,
    latency_traces: u64,
    series: u64,
    loads: u64,
    /// The meter counts lines of a log; the host counts the output of a command.
    reads_log: bool,
    worst_kept: u64,
    files: u64,
    /// Seconds between two totals at the latest, after the first ones.
    checkpoint_s: u64,
}

impl Allowance {
    pub(super) fn of(settings: &RunSettings) -> Self {
        let cpus = cpus(settings);
        let threads = threads(settings);
        let trace = &settings.trace;
        let spikes_first = u64::from(trace.snapshots_max) + u64::from(trace.controls) + cpus * FIRST_MAXIMA;
        let a_second = 1_000_000_000u64.checked_div(trace.rest_ns).unwrap_or(SPIKES_A_SECOND_MAX);
        let latency_traces = u64::from(trace.tracer.is_some()) * u64::from(LATENCY_TRACES_MAX);
        Self {
            cpus,
            threads,
            seconds: settings.duration_ns.map(|ns| seconds_of(ns.saturating_add(settings.settle_ns))),
            spikes_first,
            spikes_a_second: a_second.clamp(1, SPIKES_A_SECOND_MAX),
            latency_traces,
            // An empty list beside a latency tracer counts as one.
            series: (cpus * SERIES_PER_SOURCE * settings.sources.len() as u64).max(latency_traces.min(1)),
            loads: settings.loads.len() as u64 + 1,
            reads_log: settings.watch.as_ref().is_some_and(|watch| watch.log.is_some()),
            worst_kept: u64::from(settings.worst_kept),
            files: threads + page_files(settings) + latency_traces + 16,
            checkpoint_s: settings
                .watch
                .as_ref()
                .and_then(|watch| watch.guard.as_ref()?.totals_ns)
                .map_or(CHECKPOINT_S, |ns| (ns / 1_000_000_000).clamp(1, CHECKPOINT_S)),
        }
    }

    /// The most that may have come `elapsed` after the start.
    pub(super) fn most(&self, share: Share, elapsed: Duration) -> u64 {
        let seconds = self.seconds.unwrap_or_else(|| seconds_of(elapsed.as_nanos().try_into().unwrap_or(u64::MAX)));
        let checkpoints = CHECKPOINTS_FIRST.saturating_add(seconds / self.checkpoint_s);
        let spikes = self.spikes_first.saturating_add(seconds.saturating_mul(self.spikes_a_second));
        match share {
            Share::Descriptions => 4,
            Share::Phases => 16,
            Share::ProgressReports => seconds.saturating_mul(40),
            Share::Seconds => self.threads.saturating_mul(seconds),
            Share::Totals => self.threads.saturating_mul(checkpoints),
            Share::Spikes | Share::DroppedSpikes => spikes,
            Share::LatencyTraces => self.latency_traces,
            Share::KernelSeries => self.series.saturating_mul(checkpoints),
            Share::WatchedSeries => self.threads.saturating_mul(checkpoints),
            Share::LoadReports => self.loads.saturating_mul(seconds.saturating_mul(2)),
            Share::CounterSeconds => seconds.saturating_mul(2),
            Share::CountedLines if self.reads_log => checkpoints.saturating_add(LINES_KEPT_MAX as u64),
            Share::CountedLines => 0,
            Share::Problems => 1000 + self.threads.saturating_mul(8),
            Share::Losses => 1000 + self.threads.saturating_mul(8).saturating_add(seconds),
            Share::DamagedStretches => 10_000 + seconds.saturating_mul(10),
            Share::DamagedBytes => (16 * MIB).saturating_add(seconds.saturating_mul(64 * KIB)),
            Share::Files => self.files.saturating_add(spikes),
            Share::StreamBytes => self.stream_bytes(seconds, checkpoints, spikes),
            Share::HeldBytes => 8 * MIB + (self.cpus + self.series / 4).saturating_mul(64 * KIB),
            Share::AfterTheEnd | Share::MessagesOfTheHost => 0,
            // Both are bounded beside their files.
            Share::OpenFiles | Share::FileBytes => u64::MAX,
        }
    }

    fn stream_bytes(&self, seconds: u64, checkpoints: u64, spikes: u64) -> u64 {
        let histograms = self.cpus.saturating_mul(checkpoints).saturating_mul(128 * KIB);
        let series = self.series.saturating_mul(checkpoints).saturating_mul(64 * KIB);
        let worst = self.threads.saturating_mul(self.worst_kept).saturating_mul(160);
        let of_seconds = self.threads.saturating_mul(seconds).saturating_mul(160);
        let counters = seconds.saturating_mul(2).saturating_mul(4 * KIB + self.cpus * 64);
        let loads = self.loads.saturating_mul(seconds).saturating_mul(KIB);
        let spikes = spikes.saturating_mul(4 * KIB);
        let damage = seconds.saturating_mul(10 * LINE_LETTERS_MAX as u64);
        [histograms, series, worst, of_seconds, counters, loads, spikes, damage]
            .into_iter()
            .fold(32 * MIB, u64::saturating_add)
    }
}

fn seconds_of(ns: u64) -> u64 {
    (ns / 1_000_000_000).saturating_add(ns / 10_000_000_000).saturating_add(SECONDS_BESIDE)
}

/// The CPUs that the run may use.
pub(super) fn cpus(settings: &RunSettings) -> u64 {
    let named = settings.cpus.as_ref().filter(|_| settings.watch.is_none());
    named.map_or(CPUS_UNNAMED, |cpus| cpus.len() as u64).max(1)
}

/// Files of pages: a program may run on CPUs that are not measured.
pub(super) fn page_files(settings: &RunSettings) -> u64 {
    let records_pages = settings.audit.is_some() || settings.records_requests();
    if records_pages { cpus(settings).max(CPUS_UNNAMED) } else { 0 }
}

/// The measuring threads, or the series of a watched program.
pub(super) fn threads(settings: &RunSettings) -> u64 {
    match settings.watch {
        Some(_) => WATCHED_SERIES_MAX,
        None => cpus(settings) * THREADS_PER_CPU + THREADS_BESIDE,
    }
}
