//! The latency above which every wake-up of a run has a trace, and how often a cause occurred above it.

use crate::compare::Side;
use archive::causes::CauseGroup;
use archive::explanation::ExplanationStatus;
use archive::reader::{Run, ThreadRun};
use claims::causes::Uncounted;
use std::collections::BTreeSet;

/// Consecutive wake-ups of one cause within this time count once.
const BURST_NS: i64 = 1_000_000_000;

/// The latency above which the causes of a run are known completely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Floor {
    /// Every wake-up later than this, in ns, has a trace.
    Above(i64),
    /// There is no such latency, for this reason.
    Nowhere(Uncounted),
}

/// The worst wake-up that has no trace, over all threads.
pub fn floor(side: Side) -> Floor {
    if side.run.threads.is_empty() {
        return Floor::Nowhere(Uncounted::NothingMeasured);
    }
    if side.run.spikes.iter().any(|spike| spike.watched.is_some()) {
        return Floor::Nowhere(Uncounted::Watched);
    }
    let traced: BTreeSet<(u32, u64)> = side
        .run
        .spikes
        .iter()
        .filter(|spike| {
            let known = side.explanations.iter().find(|known| known.spike == spike.number);
            known.is_some_and(|known| known.status != ExplanationStatus::NoTrace)
        })
        .map(|spike| (spike.thread, spike.sample.cycle))
        .collect();
    if traced.is_empty() {
        return Floor::Nowhere(Uncounted::NoTrace);
    }
    let mut highest = 0;
    for thread in side.run.threads.values() {
        match of_thread(thread, &traced) {
            Ok(ns) => highest = highest.max(ns),
            Err(why) => return Floor::Nowhere(why),
        }
    }
    Floor::Above(highest)
}

fn of_thread(thread: &ThreadRun, traced: &BTreeSet<(u32, u64)>) -> Result<i64, Uncounted> {
    if thread.totals.records_dropped > 0 {
        return Err(Uncounted::RecordsDropped);
    }
    let worst = thread.worst.iter();
    let untraced = worst.clone().filter(|sample| !traced.contains(&(thread.thread, sample.cycle)));
    let untraced = untraced.map(|sample| sample.latency_ns).max();
    // Samples outside the worst list are at most as late as its last entry.
    let rest = if (thread.worst.len() as u64) < thread.totals.cycles {
        Some(worst.map(|sample| sample.latency_ns).min().ok_or(Uncounted::WorstNotKept)?)
    } else {
        None
    };
    Ok(untraced.max(rest).unwrap_or(0))
}

/// Occurrences of a group's cause in wake-ups later than `above_ns`; a burst counts once.
pub fn events(run: &Run, group: &CauseGroup, above_ns: i64) -> u64 {
    let mut due: Vec<i64> = run
        .spikes
        .iter()
        .filter(|spike| group.spikes.contains(&spike.number) && spike.sample.latency_ns > above_ns)
        .map(|spike| spike.sample.due_ns)
        .collect();
    due.sort_unstable();
    let follows = |pair: &[i64]| pair[1].saturating_sub(pair[0]) < BURST_NS;
    due.len() as u64 - due.windows(2).filter(|pair| follows(pair)).count() as u64
}
