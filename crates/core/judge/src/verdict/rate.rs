//! Judges how often wake-ups are late, against how often they may be.
//!
//! The claim is about occasions ([`crate::occasions`]), which count as independent. PASS counts every bad block of a
//! minute or less as one occasion; FAIL counts late wake-ups within minutes of each other once.

use super::{CpuJudgement, Levels, Occasions, Verdict};
use crate::blocks::{BLOCK_S_DEFAULT, SecondState, Seconds};
use crate::bounds::{expected_events, time_needed};
use crate::lateness::{certainly_late, gaps_are_normal, length_s, missed_are_known};
use crate::length::level_of_events;
use crate::memory;
use crate::occasions::{occasion_s, occasions};
use crate::readings::Readings;
use crate::refusal::Refusal;
use archive::problem::Remark;
use archive::reader::{Run, ThreadRun};
use archive::sample::Second;
use archive::summary::RunSummary;
use claims::limit::{Rate, Requirement};
use words::vocabulary::sample;

/// Largest share of bad blocks at which the allowed rate still means single events.
const BAD_SHARE_MAX: f64 = 0.1;
/// Fewest blocks of a run, if its length allows.
const BLOCKS_WANTED: usize = 30;
/// Number of blocks for the share of a run that was bad, and the longest one in seconds.
const SHARE_BLOCKS: usize = 20;
const SHARE_BLOCK_S_MAX: usize = 30;
/// Bursts of bad seconds that a short run must see begin and end, before it takes none to last longer than
/// [`BURST_S_MAX`].
const BURSTS_MIN: usize = 3;
/// Seconds that each such burst may last.
const BURST_S_MAX: u32 = 30;

/// The largest latency of a thread, and whether it is late.
struct Known {
    late: SecondState,
    /// Samples that were certainly late.
    late_samples: u64,
    /// Whether it is later than any second's record shows.
    unplaced: bool,
    /// Whether the thread missed periods whose lateness is unknown.
    unexplained: bool,
}

pub fn judge_rate(
    run: &Run,
    summary: &RunSummary,
    thread: &ThreadRun,
    requirement: &Requirement,
    allow: &Rate,
    levels: Levels,
) -> Result<CpuJudgement, Refusal> {
    let readings = Readings::of(summary);
    // A missed period is less late than the wake-up that missed it, if there is one.
    let unexplained = *requirement != Requirement::Missed && run.lateness(thread).unknown > 0;
    let state = |record: &Second| match requirement {
        Requirement::Latency { latest_ns } | Requirement::Quantile { latest_ns, .. } => {
            if record.latency_ns_max > *latest_ns {
                SecondState::Bad
            } else if readings.latest_ns(record.latency_ns_max) > *latest_ns || record.missed_periods > 0 && unexplained
            {
                SecondState::Unknown
            } else {
                SecondState::Good
            }
        }
        Requirement::Missed if record.missed_periods > 0 => SecondState::Bad,
        Requirement::Missed => SecondState::Good,
    };
    let whole = Second {
        latency_ns_max: thread.totals.latency_ns_max.unwrap_or(i64::MIN),
        missed_periods: u32::try_from(thread.totals.missed_periods).unwrap_or(u32::MAX),
        ..Second::default()
    };
    let late = state(&whole);
    let late_samples = match requirement {
        Requirement::Missed => 0,
        Requirement::Latency { latest_ns } | Requirement::Quantile { latest_ns, .. } => {
            certainly_late(run, thread, *latest_ns, readings)
        }
    };
    if late == SecondState::Bad && allow.per_hour == 0.0 {
        return Ok(refuted(summary, thread));
    }
    let missed_known = missed_are_known(summary, thread);
    if *requirement == Requirement::Missed && summary.imported.is_some() {
        return Err(Refusal::MissedUnknown);
    }
    let length = length_s(thread, summary)?;
    if BAD_SHARE_MAX * 3600.0 / allow.per_hour < 1.0 {
        return Err(Refusal::RateTooHigh(allow.text.clone()));
    }
    let seconds = Seconds::of(&thread.seconds, length, gaps_are_normal(summary), state);
    let unplaced = seconds.states.iter().all(|placed| *placed < late);
    let mut judged = of_seconds(&seconds, thread, &Known { late, late_samples, unplaced, unexplained }, allow, levels);
    if judged.verdict == Verdict::Pass && !missed_known {
        judged.verdict = Verdict::NoVerdict;
        judged.because = Some(Remark::new(&Refusal::MissedUnknown));
    }
    Ok(judged)
}

/// If nothing is allowed, one late wake-up shows that the limit is broken, at any time of the run.
fn refuted(summary: &RunSummary, thread: &ThreadRun) -> CpuJudgement {
    let hours = summary.measured_ns.unwrap_or(0).max(0) as f64 / 3.6e12;
    let latest_ns = thread.totals.latency_ns_max;
    let because = latest_ns.map(|latency_ns| Refusal::Refuted {
        word: Box::new(sample(summary)),
        latency_ns,
        missed: thread.totals.missed_periods,
    });
    CpuJudgement { hours, latest_ns, because: because.as_ref().map(Remark::new), ..CpuJudgement::empty(Verdict::Fail) }
}

fn of_seconds(seconds: &Seconds, thread: &ThreadRun, known: &Known, allow: &Rate, levels: Levels) -> CpuJudgement {
    let shortest = BAD_SHARE_MAX * 3600.0 / allow.per_hour;
    let longest = (seconds.states.len() / BLOCKS_WANTED).clamp(1, BLOCK_S_DEFAULT as usize) as f64;
    let blocks = seconds.blocks(shortest.min(longest) as u32);
    let hours = seconds.hours();
    if blocks.count == 0 {
        return CpuJudgement {
            because: Some(Remark::new(&Refusal::NothingMeasured)),
            ..CpuJudgement::empty(Verdict::NotEnoughData)
        };
    }
    let within_s = occasion_s(allow.per_hour);
    let independent_s = memory::independent_s(seconds.states.iter().map(|state| *state == SecondState::Bad));
    // If neighbouring stretches correlate for longer than an occasion, all occasions in that time may come at once.
    let at_once = independent_s.map_or(1.0, |length| (length as f64 / f64::from(within_s)).max(1.0));
    let suspect = blocks.bad + blocks.unknown + u64::from(known.unplaced);
    let high = at_once * expected_events(suspect, levels.pass).1 / hours;
    // Two ways to show it share the error.
    let level = level_of_events(levels.fail);
    let count = occasions(seconds, within_s);
    // An occasion that began before the run reaches into it.
    let reached = hours + f64::from(within_s) / 3600.0;
    let by_events = expected_events(count, level).0 / reached;
    let disturbance_s = if comes_in_bursts(seconds) { BURST_S_MAX.min(within_s) } else { within_s };
    let low = by_events.max(low_by_share(seconds, disturbance_s, level));
    let verdict = if low > allow.per_hour {
        Verdict::Fail
    } else if high <= allow.per_hour && independent_s.is_some() {
        Verdict::Pass
    } else {
        Verdict::NotEnoughData
    };
    let because = if verdict == Verdict::Fail {
        None
    } else if independent_s.is_none() {
        Some(Refusal::LongBursts)
    } else if known.unplaced {
        Some(Refusal::MaximumUnplaced { certain: known.late == SecondState::Bad })
    } else if blocks.unknown > 0 && known.unexplained {
        Some(Refusal::MissedUnexplained)
    } else if blocks.unknown > 0 {
        Some(Refusal::BlocksUnknown(blocks.unknown))
    } else {
        None
    };
    // A machine that is late in most stretches passes at no length, and a run within one occasion does not know how long
    // that lasts.
    let mostly_bad = 2 * blocks.bad > blocks.count || count > 0 && seconds.states.len() < within_s as usize;
    let needed = time_needed(allow.per_hour, suspect, levels.pass).map(|needed| (at_once * needed - hours).max(0.0));
    CpuJudgement {
        hours,
        seen: count as f64 / hours,
        low,
        high,
        blocks: Some(blocks),
        occasions: Some(Occasions {
            count,
            within_s,
            independent_s: independent_s.unwrap_or(0) as u32,
            missed: thread.totals.missed_periods,
            late: known.late_samples > 0,
            late_samples: known.late_samples,
            disturbance_s: (by_events <= allow.per_hour && disturbance_s < within_s).then_some(disturbance_s),
        }),
        latest_ns: None,
        hours_needed: needed
            .filter(|needed| verdict == Verdict::NotEnoughData && *needed > 0.0 && independent_s.is_some())
            .filter(|_| !mostly_bad),
        because: because.as_ref().map(Remark::new),
        ..CpuJudgement::empty(verdict)
    }
}

/// Whether the run saw several bursts of bad seconds begin and end, all of them short: then their lengths are known.
fn comes_in_bursts(seconds: &Seconds) -> bool {
    let is_bad = |state: &SecondState| *state == SecondState::Bad;
    let mut bursts = seconds.states.chunk_by(|one, next| is_bad(one) == is_bad(next)).filter(|burst| is_bad(&burst[0]));
    bursts.clone().count() >= BURSTS_MIN && bursts.all(|burst| burst.len() <= BURST_S_MAX as usize)
}

/// Lower bound of occasions per hour from the share of the run that was bad. An occasion lasts `within_s` at most, so the
/// mean share of bad blocks is at most the rate times the sum of that length and a block, under any dependence. The share
/// is N times its mean with probability at most 1 / N (Markov).
fn low_by_share(seconds: &Seconds, within_s: u32, confidence: f64) -> f64 {
    let block_s = (seconds.states.len() / SHARE_BLOCKS).clamp(1, SHARE_BLOCK_S_MAX.min(within_s as usize)) as u32;
    let blocks = seconds.blocks(block_s);
    let share = blocks.bad as f64 / blocks.count.max(1) as f64;
    share * (1.0 - confidence) * 3600.0 / f64::from(within_s + block_s)
}
