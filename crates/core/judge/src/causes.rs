//! Compares the causes of late wake-ups of two runs: which appeared, vanished, grew or shrank.
//!
//! A recorder keeps a trace of each new maximum and of each latency over a limit. The number of traces that show a
//! cause therefore does not give its rate, with one exception: above the worst wake-up *without* a trace, every
//! wake-up has one. [`census`] finds that floor for each run. Above the higher floor, causes are counted, and rates are
//! compared by the exact conditional test of two Poisson rates (Przyborowski and Wilenski 1940).

mod census;

use crate::bounds::{expected_events, probability};
use crate::caution::{Caution, RunName};
use crate::compare::{Side, cautions};
use crate::difference::{Difference, differences};
use archive::causes::{CauseGroup, RunCauses};
use archive::culprit::Culprit;
use archive::method::SampleWord;
use archive::problem::Remark;
use archive::summary::RunSummary;
use census::{Floor, events, floor};
pub use claims::causes::{CauseDifference, CauseInRun, CausesDifference, Change, CountedRun, Rate};
use claims::causes::{Counting, Uncounted};
use claims::difference_kind::DifferenceKind;
use words::claims::comparison::NO_VERDICT;
use words::vocabulary::sample;

/// Probability that any sentence about a change of rate is wrong, if wake-ups of a cause are independent.
const ERROR: f64 = 0.05;
/// Differences of load and settings that get a caution.
const CIRCUMSTANCES: [DifferenceKind; 6] = [
    DifferenceKind::Load,
    DifferenceKind::Interval,
    DifferenceKind::CpusMeasured,
    DifferenceKind::Priority,
    DifferenceKind::Policy,
    DifferenceKind::CpuDmaLatency,
];

/// One side: a run and the causes of its spikes.
#[derive(Debug, Clone, Copy)]
pub struct CausesSide<'a> {
    pub of: Side<'a>,
    pub causes: &'a RunCauses,
}

/// Compares the causes of two runs.
pub fn differ(a: CausesSide, b: CausesSide) -> CausesDifference {
    let floors = [floor(a.of), floor(b.of)];
    let common = common_floor(&floors);
    let runs = [counted_run(a, &floors[0]), counted_run(b, &floors[1])];
    let mut names: Vec<(Option<Culprit>, String)> = Vec::new();
    for group in a.causes.groups.iter().chain(&b.causes.groups) {
        if !names.iter().any(|(culprit, _)| *culprit == group.culprit) {
            names.push((group.culprit.clone(), group.title.clone()));
        }
    }
    let tests = names.len().max(1) as f64;
    let mut causes: Vec<CauseDifference> = names
        .into_iter()
        .map(|(culprit, title)| {
            let of = |side, run| in_run(side, culprit.as_ref(), common.ok(), run);
            let (in_a, in_b) = (of(a, &runs[0]), of(b, &runs[1]));
            let ratio = ratio(&in_a, &in_b, &runs, tests);
            let change = change(&in_a, &in_b, ratio);
            let sentence = String::new();
            let mut cause = CauseDifference { culprit, title, change, a: in_a, b: in_b, ratio, sentence };
            cause.sentence = words::claims::causes::cause(&cause);
            cause
        })
        .collect();
    causes.sort_by_key(|cause| {
        let latest = cause.a.latency_ns_max.max(cause.b.latency_ns_max);
        (
            matches!(cause.change, Change::NotShown | Change::NotCounted),
            cause.culprit.is_none(),
            std::cmp::Reverse(latest),
        )
    });
    let [run_a, run_b] = runs;
    CausesDifference {
        counted_above_ns: common.ok(),
        counted: words::claims::causes::counted(counting(common, &causes), word_of(a, b)),
        cautions: all_cautions(a, b),
        sentence: NO_VERDICT.into(),
        causes,
        a: run_a,
        b: run_b,
    }
}

/// The higher floor, or the run without a floor and the reason.
fn common_floor(floors: &[Floor; 2]) -> Result<i64, (RunName, Uncounted)> {
    let of = |run: RunName, floor: &Floor| match floor {
        Floor::Above(ns) => Ok(*ns),
        Floor::Nowhere(why) => Err((run, *why)),
    };
    Ok(of(RunName::A, &floors[0])?.max(of(RunName::B, &floors[1])?))
}

fn counting(common: Result<i64, (RunName, Uncounted)>, causes: &[CauseDifference]) -> Counting {
    let nothing = causes.iter().all(|cause| cause.a.events.unwrap_or(0) + cause.b.events.unwrap_or(0) == 0);
    match common {
        Err((run, why)) => Counting::Not(run, why),
        Ok(above) if nothing => Counting::NothingAbove(above),
        Ok(above) => Counting::Above(above),
    }
}

/// The word for a sample of both runs.
fn word_of(a: CausesSide, b: CausesSide) -> SampleWord {
    let [of_a, of_b] = [a, b].map(|side| sample(side.of.summary));
    if of_a == of_b { of_a } else { SampleWord::default() }
}

fn counted_run(side: CausesSide, floor: &Floor) -> CountedRun {
    CountedRun {
        wakeups: side.of.run.threads.values().map(|thread| thread.totals.cycles).sum(),
        hours: side.of.summary.measured_ns.filter(|ns| *ns > 0).map(|ns| ns as f64 / 3.6e12),
        floor_ns: match floor {
            Floor::Above(ns) => Some(*ns),
            Floor::Nowhere(_) => None,
        },
        worst_samples: u64::from(side.causes.worst_samples),
        worst_with_trace: u64::from(side.causes.worst_with_trace),
    }
}

fn in_run(side: CausesSide, culprit: Option<&Culprit>, above_ns: Option<i64>, run: &CountedRun) -> CauseInRun {
    let group = side.causes.groups.iter().find(|group| group.culprit.as_ref() == culprit);
    let events = above_ns.map(|above| group.map_or(0, |group| events(side.of.run, group, above)));
    let rate = |per: Option<f64>| Some(rate(events?, per.filter(|per| *per > 0.0)?));
    let mut stretches = group.map(|group| stretches(side.of, group)).unwrap_or_default();
    stretches.sort_unstable();
    CauseInRun {
        spikes: group.map_or(0, |group| group.spikes.len() as u64),
        events,
        per_hour: rate(run.hours),
        per_million_wakeups: rate(Some(run.wakeups as f64 / 1e6)),
        stretch_ns_median: stretches.get(stretches.len() / 2).copied(),
        stretch_ns_max: stretches.last().copied(),
        latency_ns_max: group.map(|group| group.latency_ns_max),
        among_worst: group.map_or(0, |group| u64::from(group.worst)),
    }
}

fn rate(events: u64, per: f64) -> Rate {
    let (low, high) = expected_events(events, 1.0 - ERROR / 2.0);
    Rate { seen: events as f64 / per, low: low / per, high: high / per }
}

/// Time that the cause adds to each of its wake-ups; empty for unexplained ones.
fn stretches(side: Side, group: &CauseGroup) -> Vec<i64> {
    let of = |spike: &u32| side.explanations.iter().find(|known| known.spike == *spike)?.findings.first();
    let found = group.spikes.iter().filter_map(of);
    found.filter(|finding| group.culprit.as_ref() == Some(&finding.culprit)).map(|finding| finding.ns).collect()
}

/// Given the number of events in both runs together, the probability that one of them is in B depends only on the ratio
/// of the rates.
fn ratio(a: &CauseInRun, b: &CauseInRun, runs: &[CountedRun; 2], tests: f64) -> Option<(f64, Option<f64>)> {
    let (in_a, in_b) = (a.events?, b.events?);
    let lengths = runs[0].hours? / runs[1].hours?;
    if in_a + in_b == 0 {
        return None;
    }
    let (low, high) = probability(in_b as f64, (in_a + in_b) as f64, 1.0 - ERROR / (2.0 * tests));
    let odds = |share: f64| share / (1.0 - share) * lengths;
    Some((odds(low), (high < 1.0).then(|| odds(high))))
}

fn change(a: &CauseInRun, b: &CauseInRun, ratio: Option<(f64, Option<f64>)>) -> Change {
    match ratio {
        None => Change::NotCounted,
        Some((low, _)) if low > 1.0 && a.events == Some(0) && a.spikes == 0 => Change::Appeared,
        Some((low, _)) if low > 1.0 => Change::Grew,
        Some((_, Some(high))) if high < 1.0 && b.events == Some(0) && b.spikes == 0 => Change::Vanished,
        Some((_, Some(high))) if high < 1.0 => Change::Shrank,
        Some(_) => Change::NotShown,
    }
}

fn all_cautions(a: CausesSide, b: CausesSide) -> Vec<Remark> {
    let found = differences(a.of.summary, b.of.summary);
    let mut all = cautions(a.of.summary, b.of.summary, &found);
    for (run, side) in [(RunName::A, a), (RunName::B, b)] {
        if side.causes.groups.is_empty() {
            all.push(Caution::NoTraces(run));
        }
    }
    let other = |difference: &&Difference| CIRCUMSTANCES.contains(&difference.what);
    let circumstances: Vec<String> = found.iter().filter(other).map(words::claims::difference::phrase).collect();
    if !circumstances.is_empty() {
        all.push(Caution::Circumstances(circumstances.join(", ")));
    }
    if length_unknown(a.of.summary, b.of.summary) {
        all.push(Caution::LengthUnknown);
    }
    all.iter().map(Remark::new).collect()
}

fn length_unknown(a: &RunSummary, b: &RunSummary) -> bool {
    a.measured_ns.is_none_or(|ns| ns <= 0) || b.measured_ns.is_none_or(|ns| ns <= 0)
}

#[cfg(test)]
mod tests;
