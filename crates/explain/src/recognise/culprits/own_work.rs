//! A watched thread did its own work: what is left of a cycle when nobody held it up.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "a watched thread had the CPU itself",
    confirm: "perf record -t TID shows where it spends its time",
    fix: "do less work in a cycle, or use a longer cycle",
    reading: &["Scheduler"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| piece.phase == PhaseName::Working && case.kind(piece) == OwnerKind::Own)?;
    // Without that, a hypervisor may have had some of it.
    let executed = case.virtualised().is_none() || case.executed(&pieces).is_some();
    Some(Claim {
        confidence: if executed { Confidence::Certain } else { Confidence::Likely },
        sentence: format!("the thread did its own work ({})", case.share(&pieces)),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm: format!("perf record -t {} shows where it spends its time", case.tool_threads.own_tid),
        fix: "do less work in a cycle, or use a longer cycle".into(),
        pieces,
    })
}
