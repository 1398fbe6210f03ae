//! The owners of the CPU and their times, from the explanations of each seed's worst samples.

use super::SeedRun;
use archive::culprit::Culprit;
use archive::explanation::{Explanation, ExplanationStatus};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use words::amounts::time;

/// Most callers shown with a function.
const CALLERS_MAX: usize = 2;

/// A cause, comparable between both sides.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Cause {
    /// `None` if nothing explains the sample.
    pub culprit: Option<Culprit>,
    /// The function in which the occupant of the CPU spent most of that time; `None` if no function is known.
    pub function: Option<String>,
}

/// A cause on both sides.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CauseShift {
    pub cause: Cause,
    /// Callers of the function where it held the CPU longest, the nearest first.
    pub called_by: Vec<String>,
    /// Longest on each side over all seeds, in ns; `None` if a side does not have the cause.
    pub a_ns: Option<i64>,
    pub b_ns: Option<i64>,
    /// How much longer B's longest is; all of it if A does not have the cause.
    pub longer_ns: i64,
    /// Number of seeds with the cause on each side.
    pub seeds_a: usize,
    pub seeds_b: usize,
    /// Number of seeds in which B's is longer than A's, and in which it is shorter.
    pub longer_in: usize,
    pub shorter_in: usize,
    pub sentence: String,
}

/// Longest time of each cause in one seed, and the callers at that time.
type Longest<'a> = BTreeMap<Cause, (i64, &'a [String])>;

/// Every cause of the paired seeds, those that changed most first.
pub fn shifts(pairs: &[(SeedRun, SeedRun)]) -> Vec<CauseShift> {
    let seeds: Vec<(Longest, Longest)> = pairs.iter().map(|(a, b)| (longest(a), longest(b))).collect();
    let causes: BTreeSet<&Cause> = seeds.iter().flat_map(|(a, b)| a.keys().chain(b.keys())).collect();
    let mut shifts: Vec<CauseShift> = causes.into_iter().map(|cause| shift(cause, &seeds)).collect();
    shifts.sort_by_key(|shift| std::cmp::Reverse(shift.longer_ns.abs()));
    shifts
}

fn shift(cause: &Cause, seeds: &[(Longest, Longest)]) -> CauseShift {
    let of = |side: &Longest| side.get(cause).map(|(ns, _)| *ns);
    let a_ns = seeds.iter().filter_map(|(a, _)| of(a)).max();
    let b_ns = seeds.iter().filter_map(|(_, b)| of(b)).max();
    let against = |(a, b): &(Longest, Longest)| of(b).unwrap_or(0).cmp(&of(a).unwrap_or(0));
    let worst = seeds.iter().flat_map(|(a, b)| [a, b]).filter_map(|side| side.get(cause)).max_by_key(|(ns, _)| *ns);
    let mut shift = CauseShift {
        cause: cause.clone(),
        called_by: worst.map_or(Vec::new(), |(_, chain)| chain.iter().skip(1).take(CALLERS_MAX).cloned().collect()),
        a_ns,
        b_ns,
        longer_ns: b_ns.unwrap_or(0).saturating_sub(a_ns.unwrap_or(0)),
        seeds_a: seeds.iter().filter(|(a, _)| a.contains_key(cause)).count(),
        seeds_b: seeds.iter().filter(|(_, b)| b.contains_key(cause)).count(),
        longer_in: seeds.iter().filter(|seed| against(seed).is_gt()).count(),
        shorter_in: seeds.iter().filter(|seed| against(seed).is_lt()).count(),
        sentence: String::new(),
    };
    shift.sentence = sentence(&shift, seeds.len());
    shift
}

/// The longest time of each cause of one run. Control samples are ordinary by design and are ignored.
fn longest<'a>(run: &SeedRun<'a>) -> Longest<'a> {
    let is_ordinary = |number| run.summary.spikes.iter().any(|s| s.spike.number == number && !s.late);
    let mut found = Longest::new();
    for explanation in run.explanations.iter().filter(|explanation| !is_ordinary(explanation.spike)) {
        let Some((cause, ns, chain)) = cause_of(explanation) else { continue };
        let entry = found.entry(cause).or_insert((ns, chain));
        if ns > entry.0 {
            *entry = (ns, chain);
        }
    }
    found
}

fn cause_of(explanation: &Explanation) -> Option<(Cause, i64, &[String])> {
    let finding = explanation.findings.first().filter(|_| explanation.status == ExplanationStatus::Explained);
    let held =
        explanation.functions.as_ref().and_then(|functions| functions.held.iter().max_by_key(|held| held.owner_ns));
    if finding.is_none() && held.is_none() {
        return None;
    }
    let cause = Cause {
        culprit: finding.map(|finding| finding.culprit.clone()),
        function: held.and_then(|held| held.chain.first().cloned()),
    };
    // The function is where most of the time went; `owner_ns` is how long the CPU was held.
    let ns = held.map(|held| held.owner_ns).or(finding.map(|finding| finding.ns))?;
    Some((cause, ns, held.map_or(&[], |held| &held.chain)))
}

fn sentence(shift: &CauseShift, seeds: usize) -> String {
    let who = shift.cause.culprit.as_ref().map_or("something not explained", Culprit::id);
    let place = match (&shift.cause.function, shift.called_by.first()) {
        (Some(function), Some(caller)) => format!(", in `{function}`, called by `{caller}`"),
        (Some(function), None) => format!(", in `{function}`"),
        (None, _) => String::new(),
    };
    let size = time(shift.longer_ns.abs() as f64);
    let (CauseShift { longer_in, shorter_in, seeds_a, seeds_b, .. }, of) = (shift, seeds);
    match (shift.a_ns, shift.b_ns) {
        (None, _) => format!("only in B: {who} holds the CPU up to {size}{place}; {seeds_b} of {of} seeds"),
        (_, None) => format!("only in A: {who} holds the CPU up to {size}{place}; {seeds_a} of {of} seeds"),
        _ if shift.longer_ns > 0 => {
            format!("{who} holds the CPU up to {size} longer{place}; {longer_in} of {of} seeds")
        }
        _ if shift.longer_ns < 0 => {
            format!("{who} holds the CPU up to {size} shorter{place}; {shorter_in} of {of} seeds")
        }
        _ => format!("{who} holds the CPU as long as before{place}; {seeds_b} of {of} seeds"),
    }
}
