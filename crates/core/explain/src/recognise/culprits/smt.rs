//! The other thread of the same processor core was busy.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::slowdown::{rest, slowed_percent};
use archive::culprit::{ForeignText, Slowdown, SmtSlowdown};
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "SMT is on, and every phase takes 1.3 to 2 times its time in ordinary samples",
    events: &[],
    shows: "all phases take longer than in ordinary samples; no event shows why",
    reading: &["Core Scheduling", "The kernel's command-line parameters"],
    proof: Proof::Unproven,
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, SmtSlowdown>> {
    let smt = case.input.environment?.smt.as_deref()?;
    let (least, most) = slowed_percent(case)?;
    if !matches!(smt.trim(), "on" | "1" | "active") || least < 130 || most > 200 {
        return None;
    }
    let pieces = rest(case)?;
    let slowdown = Slowdown { least_percent: least, most_percent: most };
    let facts = SmtSlowdown { slowdown, smt: ForeignText::from(smt.trim()) };
    Some(Claim::new(pieces, Confidence::Hint, facts))
}
