//! Whether a quantile lies below a latency.

use super::{CpuJudgement, Levels, Verdict};
use crate::lateness::{Lateness, late_samples, missed_are_known};
use crate::memory;
use crate::quantile::{QuantileCounts, Stretches, factor_needed, stretches};
use crate::readings::Readings;
use crate::refusal::Refusal;
use archive::lateness::missed_of_all_later_than;
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;

/// Judges a thread by "at most this share of its wake-ups is later".
///
/// # Errors
/// Why the archive cannot answer that.
pub fn judge_quantile(
    run: &Run,
    summary: &RunSummary,
    thread: &ThreadRun,
    (q, latest_ns): (f64, i64),
    levels: Levels,
) -> Result<CpuJudgement, Refusal> {
    let lateness = match Lateness::of(run, summary, thread, latest_ns) {
        Err(Refusal::NoSeconds) => {
            return without_seconds(run, summary, thread, (q, latest_ns), levels).ok_or(Refusal::NoSeconds);
        }
        lateness => lateness?,
    };
    let allowed = 1.0 - q;
    let Stretches { most, least, stretch_s, independent } = stretches(&lateness, memory::of_worst(&lateness.maxima_ns));
    let (low, high) = (least.at_least(levels.fail), most.at_most(levels.pass));
    let missed_known = missed_are_known(summary, thread);
    let verdict = match () {
        () if low > allowed => Verdict::Fail,
        () if high >= allowed || !independent => Verdict::NotEnoughData,
        () if !missed_known => Verdict::NoVerdict,
        () => Verdict::Pass,
    };
    let because = match verdict {
        Verdict::Fail | Verdict::Pass => None,
        _ if !independent => Some(Refusal::LongBursts),
        _ if !missed_known => Some(Refusal::MissedUnknown),
        _ if lateness.unknown_s > 0 => Some(Refusal::RecordsOfSecondsMissing(lateness.unknown_s)),
        _ => None,
    };
    let hours = lateness.length_s() as f64 / 3600.0;
    let factor = || factor_needed(&most, allowed, levels.pass);
    Ok(CpuJudgement {
        hours,
        samples: Some(QuantileCounts {
            samples: lateness.periods,
            missed: lateness.late_missed,
            over: lateness.late,
            over_most: lateness.late_most,
            stretch_s: stretch_s as u32,
            stretches: (lateness.length_s() / stretch_s) as u64,
            seconds: lateness.length_s() as u64,
            seconds_unknown: lateness.unknown_s,
        }),
        seen: if lateness.periods > 0 { lateness.late as f64 / lateness.periods as f64 } else { 0.0 },
        low,
        high,
        hours_needed: (verdict == Verdict::NotEnoughData && independent)
            .then(|| hours * (factor() - 1.0))
            .filter(|needed| needed.is_finite() && *needed > 0.0),
        because: because.map(|refusal| Remark::new(&refusal)),
        ..CpuJudgement::empty(verdict)
    })
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
    // Under any dependence, the share is at least N times its long-run mean with probability at most 1 / N (Markov).
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
