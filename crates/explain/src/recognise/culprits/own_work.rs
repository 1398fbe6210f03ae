//! A watched thread did its own work: what is left of a cycle when nobody held it up.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "a watched thread had the CPU itself; in a guest certain only where the CPU recorded events throughout, and likely where the thread was charged for all of the time",
    confirm: "perf record -t TID shows where it spends its time",
    fix: "do less work in a cycle, or use a longer cycle",
    reading: &["Scheduler"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| piece.phase == PhaseName::Working && case.kind(piece) == OwnerKind::Own)?;
    let confidence = match case.virtualised() {
        None => Confidence::Certain,
        Some(_) if case.is_seen_throughout(&pieces) => Confidence::Certain,
        // The host may have served an exit or a page fault of the guest.
        Some(_) if case.charged_in_full(&pieces).is_some() => Confidence::Likely,
        Some(_) => Confidence::Hint,
    };
    let doubt = match (confidence, case.virtualised()) {
        (Confidence::Hint, Some(host)) => {
            format!("; the trace does not show whether the hypervisor ({host}) ran the CPU for all of it")
        }
        _ => String::new(),
    };
    Some(Claim {
        confidence,
        sentence: format!("the thread did its own work ({}){doubt}", case.share(&pieces)),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm: format!("perf record -t {} shows where it spends its time", case.tool_threads.own_tid),
        fix: "do less work in a cycle, or use a longer cycle".into(),
        pieces,
    })
}
