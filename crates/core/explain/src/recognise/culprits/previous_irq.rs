//! Other interrupts were handled between due and seen.

use super::about::{About, Proof, Unrecorded};
use crate::recognise::case::{Case, Claim};
use crate::recognise::evidence::foreign_interrupt::is_foreign;
use crate::replay::context::Context;
use archive::culprit::ForeignInterrupts;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "another interrupt is served between due and seen",
    events: &[
        "irq_handler_entry|local_timer_entry|reschedule_entry|call_function_entry|call_function_single_entry|irq_work_entry|hrtimer_expire_entry",
    ],
    shows: "its entry and exit",
    reading: &["SMP IRQ affinity"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[Unrecorded::Timers, Unrecorded::WakeUp, Unrecorded::LostEvents],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, ForeignInterrupts>> {
    let pieces = case.claim(|piece| is_foreign(case, piece))?;
    let irq = pieces.iter().find_map(|&index| match case.pieces[index].answer.context() {
        Context::Irq { irq, .. } => Some(irq),
        _ => None,
    });
    let facts = ForeignInterrupts { who: case.holders(&pieces), irq };
    Some(Claim::new(pieces, Confidence::Certain, facts))
}
