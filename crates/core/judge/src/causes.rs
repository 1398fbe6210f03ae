//! Compares the causes of late wake-ups of two runs: which appeared, vanished, grew or shrank.
//!
//! A recorder keeps a trace of each new maximum and of each latency over a limit. The number of traces that show a
//! cause therefore does not give its rate, with one exception: above the worst wake-up *without* a trace, every
//! wake-up has one. [`census`] finds that floor for each run. Above the higher floor, causes are counted, and rates are
//! compared by the exact conditional test of two Poisson rates (Przyborowski and Wilenski 1940).

mod census;

use crate::bounds::{expected_events, probability};
use crate::caution::{Caution, RunName};
use crate::compare::{NO_VERDICT, Side, cautions};
use crate::difference::{Difference, differences};
use crate::difference_kind::DifferenceKind;
use archive::causes::{CauseGroup, RunCauses};
use archive::culprit::Culprit;
use archive::method::SampleWord;
use archive::problem::Remark;
use archive::summary::RunSummary;
use census::{Floor, events, floor};
use serde::{Deserialize, Serialize};
use words::amounts::{rough, time};
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

/// How a cause changed from run A to run B.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Absent from A, and more frequent in B than chance explains.
    Appeared,
    /// Absent from B, and less frequent than chance explains.
    Vanished,
    Grew,
    Shrank,
    /// Chance explains the difference.
    NotShown,
    /// Nothing can be counted.
    NotCounted,
}

/// A rate with its two-sided 95 % interval (Garwood 1936).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rate {
    pub seen: f64,
    pub low: f64,
    pub high: f64,
}

/// A cause in one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseInRun {
    /// Traced late wake-ups that it explains.
    pub spikes: u64,
    /// Occurrences above the floor, those within a second of each other counted once; `None` if not countable.
    pub events: Option<u64>,
    pub per_hour: Option<Rate>,
    pub per_million_wakeups: Option<Rate>,
    /// The time it adds to a wake-up, in ns; `None` for unexplained ones.
    pub stretch_ns_median: Option<i64>,
    pub stretch_ns_max: Option<i64>,
    pub latency_ns_max: Option<i64>,
    /// Number of the worst samples that it explains.
    pub among_worst: u64,
}

/// A cause in both runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseDifference {
    /// `None` for unexplained wake-ups.
    pub culprit: Option<Culprit>,
    pub title: String,
    pub change: Change,
    pub a: CauseInRun,
    pub b: CauseInRun,
    /// Bounds of the rate of B over that of A; `None` as the upper bound: unbounded.
    pub ratio: Option<(f64, Option<f64>)>,
    pub sentence: String,
}

impl CauseDifference {
    /// The identifier of the culprit, or the title of unexplained wake-ups.
    pub fn name(&self) -> &str {
        self.culprit.as_ref().map_or(&self.title, Culprit::id)
    }
}

/// The run and the spikes that its counts refer to.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CountedRun {
    pub wakeups: u64,
    pub hours: Option<f64>,
    /// Latest wake-up without a trace, in ns: above it the cause of every wake-up is analysed.
    pub floor_ns: Option<i64>,
    /// Analysed samples among the worst, and how many of them have a trace.
    pub worst_samples: u64,
    pub worst_with_trace: u64,
}

/// Comparison of the causes of two runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CausesDifference {
    pub a: CountedRun,
    pub b: CountedRun,
    /// Causes are counted in wake-ups later than this, in ns; `None` if they cannot be counted.
    pub counted_above_ns: Option<i64>,
    /// The counted things, or the reason that nothing is counted.
    pub counted: String,
    /// Changes first, then by the latency they cause.
    pub causes: Vec<CauseDifference>,
    /// Reasons against comparing these two runs.
    pub cautions: Vec<Remark>,
    pub sentence: String,
}

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
            let sentence = words(culprit.as_ref().map_or(&title, Culprit::id), change, [&in_a, &in_b], ratio);
            CauseDifference { culprit, title, change, a: in_a, b: in_b, ratio, sentence }
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
        counted: counted_words(common, &causes, word_of(a, b)),
        cautions: all_cautions(a, b),
        sentence: NO_VERDICT.into(),
        causes,
        a: run_a,
        b: run_b,
    }
}

/// The higher floor, or the run without a floor and the reason.
fn common_floor<'a>(floors: &'a [Floor; 2]) -> Result<i64, (&'static str, &'a str)> {
    let of = |name: &'static str, floor: &'a Floor| match floor {
        Floor::Above(ns) => Ok(*ns),
        Floor::Nowhere(why) => Err((name, why.as_str())),
    };
    Ok(of("A", &floors[0])?.max(of("B", &floors[1])?))
}

/// The word for a sample of both runs.
fn word_of(a: CausesSide, b: CausesSide) -> SampleWord {
    let [of_a, of_b] = [a, b].map(|side| sample(side.of.summary));
    if of_a == of_b { of_a } else { SampleWord::default() }
}

fn counted_words(common: Result<i64, (&str, &str)>, causes: &[CauseDifference], word: SampleWord) -> String {
    let events = |cause: &CauseDifference| cause.a.events.unwrap_or(0) + cause.b.events.unwrap_or(0);
    match common {
        Err((name, why)) => format!(
            "Nothing is counted: {why} in run {name}. How many traces name a cause says what the recorder found worth keeping, \
             not how often the cause strikes."
        ),
        Ok(above) if causes.iter().all(|cause| events(cause) == 0) => format!(
            "Nothing is counted: the {} {} without a trace has a latency of {}, and every one with a trace a smaller one. How many \
             traces name a cause says what the recorder found worth keeping, not how often the cause strikes. To count causes, measure \
             with --limit at a latency that is rarely exceeded.",
            word.worst,
            word.one,
            time(above as f64)
        ),
        Ok(above) => format!(
            "Counted are {} with a latency above {}: every one of them has a trace, in both runs. Wake-ups of one cause within a \
              second count once. A change is reported when chance makes one like it in less than 5 % of such pairs, all causes \
             together, if a cause strikes independently of when it struck before.",
            word.many,
            time(above as f64)
        ),
    }
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

fn words(name: &str, change: Change, [a, b]: [&CauseInRun; 2], ratio: Option<(f64, Option<f64>)>) -> String {
    let times = |side: &CauseInRun| match side.events {
        Some(1) => "once".to_owned(),
        count => format!("{} times", count.unwrap_or(0)),
    };
    let least = |low: f64| format!("at least {} times as often as in A", rough(low));
    let unseen = |name: &str, side: &CauseInRun| match side.per_hour {
        Some(rate) => format!("{name} may have had up to {} an hour unseen", rough(rate.high)),
        None => format!("how long {name} measured is not known"),
    };
    let (low, high) = ratio.unwrap_or((0.0, None));
    match change {
        Change::Appeared => format!("{name} appeared: never in A, {} in B, {}", times(b), least(low)),
        Change::Vanished => format!(
            "{name} vanished: {} in A, never in B, where it comes at most {} times as often",
            times(a),
            rough(high.unwrap_or(1.0))
        ),
        Change::Grew => format!("{name} came more often: {} in A, {} in B, {}", times(a), times(b), least(low)),
        Change::Shrank => format!(
            "{name} came less often: {} in A, {} in B, at most {} times as often as in A",
            times(a),
            times(b),
            rough(high.unwrap_or(1.0))
        ),
        Change::NotShown if a.events == Some(0) => {
            format!(
                "{name} was counted {} in B and never in A: too few to rule out chance; {}",
                times(b),
                unseen("A", a)
            )
        }
        Change::NotShown if b.events == Some(0) => {
            format!(
                "{name} was counted {} in A and never in B: too few to rule out chance; {}",
                times(a),
                unseen("B", b)
            )
        }
        Change::NotShown => {
            let upper = high.map_or("any number of".to_owned(), rough);
            format!("{name}: no change shown; B has between {} and {upper} times the rate of A", rough(low))
        }
        Change::NotCounted if a.spikes == 0 => {
            format!("{name} has traces in B only, which does not say that A was without it")
        }
        Change::NotCounted if b.spikes == 0 => {
            format!("{name} has traces in A only, which does not say that B is without it")
        }
        Change::NotCounted => format!("{name} has traces in both; how often it strikes cannot be compared"),
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
    let circumstances: Vec<String> = found.iter().filter(other).map(circumstance).collect();
    if !circumstances.is_empty() {
        all.push(Caution::Circumstances(circumstances.join(", ")));
    }
    if length_unknown(a.of.summary, b.of.summary) {
        all.push(Caution::LengthUnknown);
    }
    all.iter().map(Remark::new).collect()
}

fn circumstance(difference: &Difference) -> String {
    let (name, Difference { a, b, .. }) = difference.in_units();
    let side = |value: Option<String>| value.unwrap_or("none".into());
    format!("{name} ({} in A, {} in B)", side(a), side(b))
}

fn length_unknown(a: &RunSummary, b: &RunSummary) -> bool {
    a.measured_ns.is_none_or(|ns| ns <= 0) || b.measured_ns.is_none_or(|ns| ns <= 0)
}

#[cfg(test)]
mod tests;
