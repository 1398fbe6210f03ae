//! The measuring thread was moved to another CPU while it should have run.

use super::about::{About, Proof};
use crate::read::event::EventKind;
use crate::recognise::case::{Case, held};
use crate::recognise::stated::Claim;
use crate::replay::context::Context;
use archive::explanation::{Confidence, PhaseName};

pub const ABOUT: About = About {
    recognised: "sched_migrate_task of the thread, to a CPU that slept",
    events: &["sched_migrate_task"],
    shows: "the thread was moved to a CPU that slept; why that one woke late has no event",
    at_most: Confidence::Likely,
    reading: &["CPUSETS"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let own = case.tool_threads.own_tid;
    let moved = case.event(|event| matches!(event.what, EventKind::Migrate { tid, .. } if tid == own))?;
    let pieces = case.claim(|piece| {
        matches!(piece.phase, PhaseName::WakePath | PhaseName::SchedulingDelay)
            && piece.end_ns > moved.ts_ns
            && held(piece).is_some_and(Context::is_idle)
    })?;
    Some(Claim {
        confidence: Confidence::Likely,
        sentence: format!(
            "the scheduler moved the measuring thread to another CPU, which had to wake up first ({})",
            case.share(&pieces)
        ),
        events: vec![moved],
        evidence: Vec::new(),
        confirm: format!("taskset -p {own} shows the CPUs it may use"),
        fix: "pin the thread to one CPU".into(),
        pieces,
    })
}
