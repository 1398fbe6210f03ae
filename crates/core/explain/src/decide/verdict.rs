//! Queries the catalogue, and decides whether the findings suffice.

use super::ordinary_share::{OwnerTimes, ordinary_share_ns};
use super::unrecorded;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::controls::{Compared, Controls};
use crate::recognise::culprits::CATALOGUE;
use crate::recognise::functions;
use crate::replay::context::Context;
use archive::caveat::Limit;
use archive::culprit::Facts;
use archive::evidence::Evidence;
use archive::explanation::{Confidence, ExplanationStatus, Finding};

/// Percentage of the excess over the median that findings must account for.
const EXPLAINED_PERCENT: i64 = 70;
/// A culprit must take at least this percentage of its ordinary time to be blamed.
const LIFT_MIN_PERCENT: i64 = 150;
const HINTS_MAX: usize = 3;
/// Minimum percentage of the excess for a hint that accompanies proven causes.
const HINT_PERCENT_MIN: i64 = 20;

pub struct Verdict {
    pub status: ExplanationStatus,
    /// Largest first.
    pub findings: Vec<Finding>,
    pub limit: Option<Limit>,
}

/// A finding with its time in excess of the ordinary.
struct Weighed {
    finding: Finding,
    excess_ns: i64,
}

pub fn reach(case: &mut Case) -> Verdict {
    let ordinary = Controls::new(case.input.controls);
    let excess_ns = case.latency_ns() - case.input.median_ns;
    if excess_ns <= 0 {
        return Verdict { status: ExplanationStatus::Explained, findings: Vec::new(), limit: Some(Limit::NotLate) };
    }
    let taken = owner_times(case, 0..case.pieces.len());
    let mut weighed: Vec<Weighed> = Vec::new();
    for entry in CATALOGUE {
        let Some(mut claim) = (entry.look)(case) else { continue };
        claim.confidence = claim.confidence.min(entry.about.proof.at_most()).min(of_interrupts(case, &claim.pieces));
        claim.confidence = claim.confidence.min(unrecorded::confidence(case, entry.about.refuted_by, &claim.pieces));
        for &index in &claim.pieces {
            case.taken[index] = true;
        }
        let ns = case.ns(&claim.pieces);
        let claimed = owner_times(case, claim.pieces.iter().copied());
        let ordinary_ns: i64 = claimed.keys().map(|owner| ordinary.ns(owner)).sum();
        if ns * 100 < ordinary_ns.saturating_mul(LIFT_MIN_PERCENT) {
            continue;
        }
        weighed.push(Weighed {
            finding: finding(case, claim, &claimed, &ordinary),
            excess_ns: ns - ordinary_share_ns(&claimed, &taken, &ordinary),
        });
    }
    weighed.sort_by_key(|entry| std::cmp::Reverse(entry.excess_ns));
    let named = weighed.iter().filter(|entry| entry.finding.confidence > Confidence::Hint);
    let explained_ns: i64 = named.map(|entry| entry.excess_ns).sum();
    let status = if explained_ns.saturating_mul(100) >= excess_ns.saturating_mul(EXPLAINED_PERCENT) {
        ExplanationStatus::Explained
    } else {
        ExplanationStatus::NotExplained
    };
    if status == ExplanationStatus::Explained {
        // A hint next to a proven cause is noise unless it covers a substantial part of the time.
        let matters =
            |entry: &Weighed| entry.excess_ns.saturating_mul(100) >= excess_ns.saturating_mul(HINT_PERCENT_MIN);
        weighed.retain(|entry| entry.finding.confidence > Confidence::Hint || matters(entry));
        // Explanations come first, even before larger suspicions.
        weighed.sort_by_key(|entry| entry.finding.confidence == Confidence::Hint);
    }
    let mut findings: Vec<Finding> = weighed.into_iter().map(|entry| entry.finding).collect();
    if status == ExplanationStatus::NotExplained {
        findings.truncate(HINTS_MAX);
        for finding in &mut findings {
            finding.confidence = Confidence::Hint;
        }
    }
    Verdict { status, findings, limit: None }
}

/// Confidence that interrupts took the time of the pieces: in a guest the host may have taken an unrecorded part of it,
/// also in the middle of a handler. For a task, its priority proves that it kept the thread off the CPU.
fn of_interrupts(case: &Case, pieces: &[usize]) -> Confidence {
    let interrupting = |index: &usize| held(&case.pieces[*index]).is_some_and(Context::is_interrupting);
    let interrupts: Vec<usize> = pieces.iter().copied().filter(interrupting).collect();
    let mostly = case.ns(&interrupts) * 2 > case.ns(pieces);
    if mostly && !case.is_seen_throughout(&interrupts) { Confidence::Likely } else { Confidence::Certain }
}

fn finding(case: &Case, claim: Claim<Facts>, claimed: &OwnerTimes, ordinary: &Controls) -> Finding {
    let ns = case.ns(&claim.pieces);
    let mut events = case.brackets(&claim.pieces);
    events.extend(claim.events);
    events.sort_by_key(|event| (event.ts_ns, event.cpu));
    events.dedup();
    let mut evidence: Vec<Evidence> = events.iter().map(|event| case.shown(event)).collect();
    evidence.extend(claim.evidence);
    let inferred = case.inferred(&claim.pieces);
    let due_ns = case.trace.window.due_ns;
    evidence.extend(inferred.iter().map(|stretch| Evidence::Inferred {
        thread: case.names().task_name(stretch.tid),
        start_ns: stretch.start_ns - due_ns,
        end_ns: stretch.end_ns - due_ns,
        from: stretch.from,
    }));
    evidence.extend(functions::evidence(case, &claim.pieces));
    if !ordinary.is_unknown() {
        let (as_long, controls) = ordinary.as_long_in(ns * 100 / LIFT_MIN_PERCENT, claimed.keys());
        let usual_ns = claimed.keys().map(|owner| ordinary.ns(owner)).sum();
        evidence.push(Evidence::Ordinary { usual_ns, as_long, controls });
    }
    // Inferred stretches are not enclosed by events.
    let confidence = if inferred.is_empty() { claim.confidence } else { claim.confidence.min(Confidence::Likely) };
    let culprit = claim.facts.culprit();
    Finding { facts: Some(claim.facts), evidence_facts: evidence, ..Finding::new(culprit, confidence, ns) }
}

/// Time of each owner in these pieces.
fn owner_times(case: &Case, pieces: impl Iterator<Item = usize>) -> OwnerTimes {
    let mut times = OwnerTimes::new();
    for piece in pieces.map(|index| &case.pieces[index]) {
        let owner = Compared::new(piece.phase, case.kind(piece), &piece.answer.name(case.names()));
        *times.entry(owner).or_default() += piece.ns();
    }
    times
}
