//! Work that the kernel deferred to its own interrupt: perf, printk, tracing.

use super::about::{About, Proof};
use crate::read::event::Vector;
use crate::recognise::case::{Case, Claim, held};
use crate::recognise::evidence::foreign_interrupt::is_foreign;
use crate::recognise::evidence::named::claim;
use crate::replay::context::Context;
use archive::culprit::NamedHolders;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "the irq_work interrupt is served between due and seen",
    events: &["irq_work_entry"],
    shows: "its entry and exit",
    reading: &["Softlockup detector and hardlockup detector (aka nmi_watchdog)"],
    proof: Proof::Real { at_most: Confidence::Certain },
    refuted_by: &[],
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c, NamedHolders>> {
    let pieces = case.claim(|piece| {
        is_foreign(case, piece) && matches!(held(piece), Some(Context::Vector { vector: Vector::IrqWork, .. }))
    })?;
    Some(claim(case, pieces))
}
