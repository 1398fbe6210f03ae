//! Parts of the measurement of which the archive has no record: a CPU, or most of the periods that were due.

use crate::refusal::Refusal;
use archive::method::Stimulus;
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::settings::RunSettings;
use archive::summary::RunSummary;

/// Share of the periods that must be recorded or counted as missed.
const RECORDED_MIN: f64 = 0.99;
/// A machine under load notes the end of the measurement late, but not later than this.
const END_NOTED_NS_MAX: u64 = 10_000_000_000;
/// Periods at the start and the end that may be outside the measurement.
const AT_THE_ENDS: f64 = 2.0;

/// CPUs and periods without a record.
pub fn uncovered(run: &Run, summary: &RunSummary) -> Vec<Remark> {
    let Some(settings) = measured_by_timers(summary) else { return Vec::new() };
    let absent = absent_cpus(run, summary, settings);
    let absent = (!absent.is_empty()).then_some(Refusal::CpusAbsent(absent));
    let sparse = run.threads.values().filter_map(|thread| {
        let recorded = recorded_share(run, summary, settings, thread)?;
        (recorded < RECORDED_MIN).then_some(Refusal::PeriodsAbsent { cpu: thread.cpu, recorded })
    });
    absent.into_iter().chain(sparse).map(|refusal| Remark::new(&refusal)).collect()
}

/// The settings of a run in which each CPU has a thread with a timer of its own.
fn measured_by_timers(summary: &RunSummary) -> Option<&RunSettings> {
    let settings = summary.settings.as_ref().filter(|_| summary.imported.is_none())?;
    (settings.watch.is_none() && settings.method.stimulus() == Stimulus::Timer).then_some(settings)
}

/// CPUs that were requested, or got a thread, and have no figures.
fn absent_cpus(run: &Run, summary: &RunSummary, settings: &RunSettings) -> Vec<u32> {
    let requested = settings.cpus.iter().flatten().copied();
    let started = summary.effective.iter().flat_map(|effective| &effective.threads);
    let started = started.filter(|thread| !run.threads.contains_key(&thread.thread)).flat_map(|thread| &thread.cpus);
    let measured = |cpu: &u32| run.threads.values().any(|thread| thread.cpu == *cpu);
    let mut absent: Vec<u32> = requested.chain(started.copied()).filter(|cpu| !measured(cpu)).collect();
    absent.sort_unstable();
    absent.dedup();
    absent
}

/// Share of the periods due that were recorded or counted as missed; `None` if their number is unknown.
fn recorded_share(run: &Run, summary: &RunSummary, settings: &RunSettings, thread: &ThreadRun) -> Option<f64> {
    let interval_ns = settings.interval_ns.max(1) as f64;
    let measured_ns = u64::try_from(summary.measured_ns?).ok()?;
    let noted_late = |asked_ns: &u64| measured_ns.saturating_sub(*asked_ns) < END_NOTED_NS_MAX;
    let asked_ns = settings.duration_ns.filter(noted_late);
    let measured_ns = asked_ns.map_or(measured_ns, |asked_ns| asked_ns.min(measured_ns)) as f64;
    let random = run.period_ns().is_none();
    // The mean of random intervals is known to one part in the root of their number.
    let due = measured_ns / interval_ns;
    let spread = if random { 3.0 * due.sqrt() } else { 0.0 };
    let due = settings.cycles.map_or(due, |cycles| due.min(cycles as f64)) - AT_THE_ENDS - spread;
    let periods = thread.totals.cycles.saturating_add(thread.totals.missed_periods) as f64;
    (due > 0.0).then(|| periods / due)
}
