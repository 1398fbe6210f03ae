//! Whether a quantile lies below a latency: which share of the wake-ups is later, with bounds that count stretches of time.
//!
//! Late wake-ups come in bursts, and a run that has not seen one does not show how long it would be. So a stretch of time
//! may be late from its beginning to its end, whatever was seen of the others.

use crate::lateness::{Lateness, missed_are_known};
use crate::mean_share::Shares;
use crate::memory;
use crate::refusal::Refusal;
use crate::verdict::{CpuJudgement, Levels, Verdict};
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;
use serde::{Deserialize, Serialize};

/// Fewer late seconds say nothing about whether they come together.
const LATE_SECONDS_MIN: usize = 3;
/// Where late samples are counted, FAIL takes longer stretches: what makes wake-ups late may come again for minutes.
const FAIL_STRETCH_S_MAX: usize = 600;
const FAIL_STRETCHES: usize = 6;

/// Wake-ups over a latency and the stretches they were counted in.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct QuantileCounts {
    /// Periods that were due, served or not.
    pub samples: u64,
    /// Of those, how many were never served.
    pub missed: u64,
    /// Periods that were late, those never served among them: certainly, and at most.
    pub over: u64,
    pub over_most: u64,
    /// Length in seconds of stretches that are taken as independent, and their number.
    pub stretch_s: u32,
    pub stretches: u64,
    /// Seconds that were counted, and how many of them have no record.
    pub seconds: u64,
    pub seconds_unknown: u64,
}

/// How long stretches of time are that are independent as far as the run shows. The second value: whether it shows that.
fn stretch_s(lateness: &Lateness) -> (usize, bool) {
    let late = lateness.late_of_seconds();
    let enough = late.iter().filter(|late| **late > 0.0).count() >= LATE_SECONDS_MIN;
    let bad: Vec<f64> = late.iter().map(|late| f64::from(u8::from(*late > 0.0))).collect();
    let of_late = if enough { memory::independent_s(&bad) } else { Some(1) };
    match (memory::of_latest(&lateness.maxima_ns), of_late) {
        (Some(one), Some(other)) => (one.max(other), true),
        _ => ((lateness.length_s() / 20).max(1), false),
    }
}

/// Shares of late wake-ups in stretches that are taken as independent.
pub(crate) struct Stretches {
    /// As large as they may be, and as small.
    pub most: Shares,
    pub least: Shares,
    pub stretch_s: usize,
    /// Whether the run shows how long a stretch must be.
    pub independent: bool,
}

pub(crate) fn stretches(lateness: &Lateness) -> Stretches {
    let (stretch_s, independent) = stretch_s(lateness);
    let fail_stretch_s = if lateness.counted {
        stretch_s.max((lateness.length_s() / FAIL_STRETCHES).min(FAIL_STRETCH_S_MAX))
    } else {
        // What is not placed is in as few stretches as hold it, so short ones do.
        stretch_s
    };
    Stretches {
        most: lateness.shares_most(stretch_s),
        least: lateness.shares_least(fail_stretch_s),
        stretch_s,
        independent,
    }
}

/// Judges a thread by "at most this share of its wake-ups is later".
///
/// # Errors
/// Why the archive cannot tell.
pub(crate) fn judge_quantile(
    run: &Run,
    summary: &RunSummary,
    thread: &ThreadRun,
    (q, latest_ns): (f64, i64),
    levels: Levels,
) -> Result<CpuJudgement, Refusal> {
    let lateness = Lateness::of(run, summary, thread, latest_ns)?;
    let allowed = 1.0 - q;
    let Stretches { most, least, stretch_s, independent } = stretches(&lateness);
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
            missed: lateness.missed,
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

/// Stretches of time after which a share of late wake-ups below `allowed` may be claimed, if wake-ups are late in so many of them
/// throughout. `None`: more than anything measures.
pub fn stretches_needed(allowed: f64, late: u64, confidence: f64) -> Option<f64> {
    let shows = |stretches: f64| {
        let counts = vec![(0.0, stretches - late as f64), (1.0, late as f64)];
        Shares { counts }.show_less(allowed, confidence)
    };
    let (mut low, mut high) = (late as f64, 2.0 * late as f64 + 4.0);
    while !shows(high) {
        (low, high) = (high, 4.0 * high);
        if high > 1e18 {
            return None;
        }
    }
    while high - low > (1e-9 * high).max(0.5) {
        let middle = 0.5 * (low + high);
        if shows(middle) { high = middle } else { low = middle }
    }
    Some(high.ceil())
}

/// Where one thread has no record of each second: the share of late wake-ups alone. Whatever they depend on, the share is at least
/// so many times what it is in the long run with no larger probability than one in so many (Markov).
pub(crate) fn low_without_seconds(share: f64, levels: Levels) -> f64 {
    share * (1.0 - levels.fail)
}

/// How many times as long a run like this one would have to be for PASS; infinite if it never would.
fn factor_needed(shares: &Shares, allowed: f64, confidence: f64) -> f64 {
    let passes = |factor: f64| shares.scaled(factor).show_less(allowed, confidence);
    let (mut low, mut high) = (1.0, 2.0);
    while !passes(high) {
        (low, high) = (high, 4.0 * high);
        if high > 1e9 {
            return f64::INFINITY;
        }
    }
    while high / low > 1.001 {
        let middle = 0.5 * (low + high);
        if passes(middle) { high = middle } else { low = middle }
    }
    high
}
