//! The thread had the CPU and still took long to see the clock; no event shows why.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "the thread had the CPU and took long to read the clock, and no event shows why",
    confirm: "compare with a run without load; perf stat -e cache-misses",
    fix: "tsc as clocksource; keep memory-hungry work off CPUs that share the cache (resctrl)",
    reading: &["User Interface for Resource Control feature"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| piece.phase == PhaseName::ReturnToUser && case.kind(piece) == OwnerKind::Own)?;
    let share = case.share(&pieces);
    if case.in_virtual_time() {
        return Some(Claim {
            confidence: Confidence::Hint,
            sentence: format!(
                "the thread had the CPU and executed instructions for {share} before it read the clock: the return from the kernel, its own page faults, other work"
            ),
            events: Vec::new(),
            evidence: Vec::new(),
            confirm: "`tardy virtual record` shows the functions, except those of a watched program".into(),
            fix: "lock and touch memory beforehand; read the clock first, then do the work".into(),
            pieces,
        });
    }
    Some(Claim {
        confidence: Confidence::Hint,
        sentence: format!(
            "the thread had the CPU and took {share} to read the clock: cold caches, a slow clock source, memory contention, firmware or a hypervisor"
        ),
        events: Vec::new(),
        evidence: case
            .input
            .environment
            .and_then(|environment| environment.clocksource.as_ref())
            .map(|clocksource| format!("clocksource is {clocksource}"))
            .into_iter()
            .collect(),
        confirm: "compare with a run without load; perf stat -e cache-misses on this CPU".into(),
        fix: "tsc as clocksource; keep memory-hungry work off CPUs that share the cache (resctrl)".into(),
        pieces,
    })
}
