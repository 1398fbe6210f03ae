//! The thread had the CPU and still took long to see the clock; no event shows why.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim};
use archive::culprit::{ForeignText, SlowReturn};
use archive::explanation::{Confidence, OwnerKind, PhaseName};

pub const ABOUT: About = About {
    recognised: "the thread had the CPU and took long to read the clock, and no event shows why",
    events: &[],
    shows: "the thread had the CPU; nothing shows why it was slow",
    reading: &["User Interface for Resource Control feature"],
    proof: Proof::Real { at_most: Confidence::Hint },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, SlowReturn>> {
    let pieces = case.claim(|piece| piece.phase == PhaseName::ReturnToUser && case.kind(piece) == OwnerKind::Own)?;
    let clocksource = case.input.environment.and_then(|environment| environment.clocksource.as_deref());
    let facts = match case.in_virtual_time() {
        true => SlowReturn::InVirtualTime,
        false => SlowReturn::Unknown { clocksource: clocksource.map(ForeignText::from) },
    };
    Some(Claim::new(pieces, Confidence::Hint, facts))
}
