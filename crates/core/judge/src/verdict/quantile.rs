//! Whether a quantile lies below a latency.

use super::{CpuJudgement, Levels, Verdict};
use crate::lateness::{Lateness, late_samples, missed_are_known};
use crate::memory::STRETCHES_MIN;
use crate::quantile::{QuantileCounts, Stretches, factor_needed, stretches};
use crate::readings::Readings;
use crate::refusal::Refusal;
use archive::lateness::missed_of_all_later_than;
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;

/// At most `1 - q` of the wake-ups may be later; a disturbance is assumed to last `disturbance_s` at most.
#[derive(Debug, Clone, Copy)]
pub struct QuantileLimit {
    pub q: f64,
    pub latest_ns: i64,
    pub disturbance_s: u32,
}

/// Judges a thread by "at most this share of its wake-ups is later".
///
/// # Errors
/// Why the archive cannot answer that.
pub fn judge_quantile(
    run: &Run,
    summary: &RunSummary,
    thread: &ThreadRun,
    limit: QuantileLimit,
    levels: Levels,
) -> Result<CpuJudgement, Refusal> {
    let QuantileLimit { q, latest_ns, disturbance_s } = limit;
    let lateness = match Lateness::of(run, summary, thread, latest_ns) {
        Err(Refusal::NoSeconds) => {
            return without_seconds(run, summary, thread, (q, latest_ns), levels).ok_or(Refusal::NoSeconds);
        }
        lateness => lateness?,
    };
    let allowed = 1.0 - q;
    let stretches = stretches(&lateness, disturbance_s);
    let seen = if lateness.periods > 0 { (lateness.late as f64 / lateness.periods as f64).min(1.0) } else { 0.0 };
    // Two ways to show it share the error. Under any dependence, the share is at least N times its long-run mean with
    // probability at most 1 / N (Markov).
    let level = 1.0 - (1.0 - levels.fail) / 2.0;
    let by_stretches = stretches.least.at_least(level);
    let by_share = seen * (1.0 - level);
    let (low, high) = (by_stretches.max(by_share), stretches.most.at_most(levels.pass));
    let missed_known = missed_are_known(summary, thread);
    let verdict = match () {
        () if low > allowed => Verdict::Fail,
        () if high >= allowed || !stretches.independent || !stretches.enough => Verdict::NotEnoughData,
        () if !missed_known => Verdict::NoVerdict,
        () => Verdict::Pass,
    };
    let because = match verdict {
        Verdict::Fail | Verdict::Pass => None,
        _ if !stretches.independent => Some(Refusal::LongBursts),
        _ if !missed_known => Some(Refusal::MissedUnknown),
        _ if lateness.unknown_s > 0 => Some(Refusal::RecordsOfSecondsMissing(lateness.unknown_s)),
        _ => None,
    };
    let length_s = lateness.length_s();
    Ok(CpuJudgement {
        hours: length_s as f64 / 3600.0,
        samples: Some(QuantileCounts {
            samples: lateness.periods,
            missed: lateness.late_missed,
            over: lateness.late,
            over_most: lateness.late_most,
            stretch_s: stretches.stretch_s as u32,
            stretches: (length_s / stretches.stretch_s) as u64,
            fail_stretch_s: if by_share > allowed { 0 } else { stretches.fail_stretch_s as u32 },
            seconds: length_s as u64,
            seconds_unknown: lateness.unknown_s,
        }),
        seen,
        low,
        high,
        hours_needed: (verdict == Verdict::NotEnoughData)
            .then(|| seconds_needed(&stretches, length_s, allowed, levels.pass) / 3600.0)
            .filter(|needed| needed.is_finite() && *needed > 0.0),
        because: because.map(|refusal| Remark::new(&refusal)),
        ..CpuJudgement::empty(verdict)
    })
}

/// The run lacks this many seconds for PASS, if the rest is like it. Where not even the length of a disturbance shows, at
/// least as many again.
fn seconds_needed(stretches: &Stretches, length_s: usize, allowed: f64, confidence: f64) -> f64 {
    let (measured, stretch_s) = (length_s as f64, stretches.stretch_s as f64);
    let again = if stretches.independent { 0.0 } else { 2.0 * measured };
    // A run that is shorter than a stretch counts as one, and a remainder joins the last one.
    let needed = stretches.most.count() * factor_needed(&stretches.most, allowed, confidence);
    (needed.max(STRETCHES_MIN as f64) * stretch_s).max(again) - measured
}

/// A histogram without times can only show that a quantile is broken by far: how late samples cluster is unknown.
fn without_seconds(
    run: &Run,
    summary: &RunSummary,
    thread: &ThreadRun,
    (q, latest_ns): (f64, i64),
    levels: Levels,
) -> Option<CpuJudgement> {
    let (over, over_most) = late_samples(thread, latest_ns, Readings::of(summary));
    let (missed, missed_most) = missed_of_all_later_than(latest_ns, &thread.histogram, &thread.totals, run.period_ns());
    let samples = thread.totals.cycles.saturating_add(thread.totals.missed_periods);
    let share = over.saturating_add(missed) as f64 / samples.max(1) as f64;
    let low = share * (1.0 - levels.fail);
    let counts = QuantileCounts {
        samples,
        missed,
        over: over.saturating_add(missed),
        over_most: over_most.saturating_add(missed_most),
        ..QuantileCounts::default()
    };
    (low > 1.0 - q).then(|| CpuJudgement {
        samples: Some(counts),
        seen: share,
        low,
        high: 1.0,
        ..CpuJudgement::empty(Verdict::Fail)
    })
}
