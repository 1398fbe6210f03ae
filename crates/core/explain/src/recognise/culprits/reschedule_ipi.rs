//! Other CPUs request this one to reschedule.

use super::about::{About, Proof};
use crate::read::event::Vector;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::foreign_interrupt::is_foreign;
use crate::recognise::evidence::named::claim;
use crate::replay::context::Context;
use archive::culprit::NamedHolders;

pub const ABOUT: About = About {
    recognised: "the reschedule interrupt is served between due and seen",
    events: &["reschedule_entry"],
    shows: "its entry and exit",
    reading: &["SMP IRQ affinity", "CPUSETS"],
    proof: Proof::MadeUp,
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    let pieces = case.claim(|piece| {
        is_foreign(case, piece) && matches!(held(piece), Some(Context::Vector { vector: Vector::Reschedule, .. }))
    })?;
    Some(claim(case, pieces))
}
