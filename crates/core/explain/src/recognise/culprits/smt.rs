//! The other thread of the same processor core was busy.

use super::about::{About, Proof};
use super::memory_contention::{rest, slowed_percent};
use crate::recognise::case::Case;
use crate::recognise::stated::{self, Claim};
use archive::culprit::Culprit;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "SMT is on, and every phase takes 1.3 to 2 times its time in ordinary samples",
    events: &[],
    shows: "all phases take longer than in ordinary samples; no event shows why",
    at_most: Confidence::Hint,
    reading: &["Core Scheduling", "The kernel's command-line parameters"],
    proof: Proof::Unproven,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let smt = case.input.environment?.smt.as_deref()?;
    let (least, most) = slowed_percent(case)?;
    if !matches!(smt.trim(), "on" | "1" | "active") || least < 130 || most > 200 {
        return None;
    }
    let pieces = rest(case)?;
    Some(Claim {
        confidence: Confidence::Hint,
        sentence: format!(
            "every phase took {:.1} to {:.1} times its usual time ({}), as if the other thread of the core were busy",
            least as f64 / 100.0,
            most as f64 / 100.0,
            case.share(&pieces)
        ),
        events: Vec::new(),
        evidence: vec![format!("SMT is {}", smt.trim())],
        confirm: stated::confirm(&Culprit::Smt),
        fix: stated::fix(&Culprit::Smt),
        pieces,
    })
}
