//! The owners of the CPU and their times, from the explanations of each seed's worst samples.

use super::SeedRun;
use archive::explanation::{Explanation, ExplanationStatus};
pub use claims::virtual_time::{Cause, CauseShift};
use std::collections::{BTreeMap, BTreeSet};

/// Most callers shown with a function.
const CALLERS_MAX: usize = 2;

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
    shift.sentence = words::claims::virtual_time::cause(&shift, seeds.len());
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
