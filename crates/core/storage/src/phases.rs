//! Divides one sample into phases at the instants of its parts and sleeps.
//!
//! At each instant the phase is that of the part that is furthest: while one part is at the device, the device has the
//! request, whatever the others do. The phases partition the sample for any parts and sleeps.

use crate::parts::{Part, Stage};
use crate::sleeps::Sleep;
use archive::storage::StoragePhase;

/// The parts, sleeps and throttles that the trace connects with a sample.
#[derive(Debug, Clone, Copy)]
pub struct Way<'a> {
    pub from_ns: i64,
    pub until_ns: i64,
    /// Parts that the thread submitted, and those of a thread that woke it, while it slept.
    pub parts: &'a [(&'a Part, Clip)],
    pub sleeps: &'a [Sleep],
}

/// The stretch in which a part counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clip {
    pub from_ns: i64,
    pub until_ns: i64,
}

impl Clip {
    pub const ALL: Self = Self { from_ns: i64::MIN, until_ns: i64::MAX };

    fn contains(&self, at_ns: i64) -> bool {
        (self.from_ns..self.until_ns).contains(&at_ns)
    }
}

/// The stage of a part at an instant, if it is open then.
fn stage_at(part: &Part, at_ns: i64) -> Option<Stage> {
    let (_, stage) = part.stages.iter().rev().find(|(from_ns, _)| *from_ns <= at_ns)?;
    (*stage != Stage::Done).then_some(*stage)
}

/// The lengths of the phases, in the order of [`StoragePhase::ALL`], without those of 0 ns.
pub fn divide(way: Way<'_>) -> Vec<(StoragePhase, i64)> {
    let Way { from_ns, until_ns, parts, sleeps } = way;
    let mut cuts: Vec<i64> = vec![from_ns, until_ns];
    for (part, clip) in parts {
        cuts.extend(part.stages.iter().map(|(at_ns, _)| *at_ns));
        cuts.extend([clip.from_ns, clip.until_ns]);
    }
    for sleep in sleeps {
        cuts.extend([sleep.from_ns, sleep.until_ns]);
        cuts.extend(sleep.woken_ns);
    }
    cuts.retain(|at_ns| (from_ns..=until_ns).contains(at_ns));
    cuts.sort_unstable();
    cuts.dedup();
    let own = || parts.iter().filter(|(_, clip)| *clip == Clip::ALL).map(|(part, _)| part.start_ns());
    let (first_ns, last_ns) = (own().min(), own().max());
    let mut sums = [0_i64; StoragePhase::ALL.len()];
    for pair in cuts.windows(2) {
        let (start_ns, end_ns) = (pair[0], pair[1]);
        let open =
            parts.iter().filter(|(_, clip)| clip.contains(start_ns)).filter_map(|(part, _)| stage_at(part, start_ns));
        let phase = match furthest(open) {
            Some(phase) => phase,
            None => without_part(start_ns, parts, sleeps, first_ns, last_ns),
        };
        let at = StoragePhase::ALL.iter().position(|one| *one == phase).unwrap_or(0);
        sums[at] = sums[at].saturating_add(end_ns.saturating_sub(start_ns));
    }
    StoragePhase::ALL.into_iter().zip(sums).filter(|(_, ns)| *ns != 0).collect()
}

fn furthest(stages: impl Iterator<Item = Stage>) -> Option<StoragePhase> {
    let rank = |stage: &Stage| match stage {
        Stage::Device => 3,
        Stage::Interrupted => 2,
        Stage::Queue => 1,
        Stage::Block | Stage::Done => 0,
    };
    Some(match stages.max_by_key(rank)? {
        Stage::Device => StoragePhase::Device,
        Stage::Interrupted => StoragePhase::InterruptToCompletion,
        Stage::Queue => StoragePhase::RequestToDevice,
        Stage::Block | Stage::Done => StoragePhase::BioToRequest,
    })
}

/// The phase of an instant at which no part is open.
fn without_part(
    at_ns: i64,
    parts: &[(&Part, Clip)],
    sleeps: &[Sleep],
    first_ns: Option<i64>,
    last_ns: Option<i64>,
) -> StoragePhase {
    let (Some(first_ns), Some(last_ns)) = (first_ns, last_ns) else {
        // Other threads may have submitted what it waited for.
        let waited_for = parts.iter().filter_map(|(part, _)| part.done_ns()).max();
        return match waited_for {
            Some(done_ns) if done_ns <= at_ns => after(at_ns, sleeps),
            _ => StoragePhase::WithoutRequest,
        };
    };
    let asleep = |sleep: &&Sleep| (sleep.from_ns..sleep.woken_ns.unwrap_or(sleep.until_ns)).contains(&at_ns);
    let sleep = sleeps.iter().find(asleep);
    let completed_in = |sleep: &Sleep| {
        parts.iter().filter_map(|(part, _)| part.done_ns()).any(|done_ns| (sleep.from_ns..=at_ns).contains(&done_ns))
    };
    match sleep {
        Some(sleep) if completed_in(sleep) => StoragePhase::CompletionToWakeUp,
        Some(_) => StoragePhase::WithoutRequest,
        None if at_ns < first_ns || at_ns < last_ns => StoragePhase::Submission,
        None => after(at_ns, sleeps),
    }
}

/// The phase of an instant after the last completion.
fn after(at_ns: i64, sleeps: &[Sleep]) -> StoragePhase {
    let asleep = sleeps.iter().any(|sleep| (sleep.from_ns..sleep.woken_ns.unwrap_or(sleep.until_ns)).contains(&at_ns));
    if asleep { StoragePhase::CompletionToWakeUp } else { StoragePhase::WakeUpToUser }
}
