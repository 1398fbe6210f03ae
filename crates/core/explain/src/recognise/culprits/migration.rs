//! The measuring thread was moved to another CPU while it should have run.

use super::about::{About, Proof, Unrecorded};
use crate::read::event::EventKind;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::culprit::Migrated;
use archive::explanation::{Confidence, PhaseName};

pub const ABOUT: About = About {
    recognised: "sched_migrate_task of the thread, to a CPU that slept",
    events: &["sched_migrate_task"],
    shows: "the thread was moved to a CPU that slept; why that one woke late has no event",
    reading: &["CPUSETS"],
    proof: Proof::Real { at_most: Confidence::Likely },
    refuted_by: &[Unrecorded::SwitchesOfCpu, Unrecorded::LostEvents],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, Migrated>> {
    let own = case.tool_threads.own_tid;
    let moved = case.event(|event| matches!(event.what, EventKind::Migrate { tid, .. } if tid == own))?;
    let EventKind::Migrate { from_cpu, to_cpu, .. } = moved.what else { return None };
    let pieces = case.claim(|piece| {
        matches!(piece.phase, PhaseName::WakePath | PhaseName::SchedulingDelay)
            && piece.end_ns > moved.ts_ns
            && held(piece).is_some_and(Context::is_idle)
    })?;
    let facts = Migrated { tid: own, from_cpu, to_cpu };
    Some(Claim { events: vec![moved], ..Claim::new(pieces, Confidence::Likely, facts) })
}
