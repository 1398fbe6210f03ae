//! Work that the kernel deferred to its own interrupt: perf, printk, tracing.

use super::about::{About, Proof};
use super::named::claim;
use super::previous_irq::is_foreign;
use crate::read::event::Vector;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;

pub const ABOUT: About = About {
    recognised: "the irq_work interrupt is served between due and seen",
    confirm: "the row IWI of /proc/interrupts; ipi:ipi_send_cpu with callsite=irq_work_queue* names the sender",
    fix: "stop perf sessions and programs that log to the kernel; sysctl kernel.nmi_watchdog=0; no other reader of the kernel trace while measuring",
    reading: &["Softlockup detector and hardlockup detector (aka nmi_watchdog)"],
    proof: Proof::Real,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| {
        is_foreign(case, piece) && matches!(held(piece), Some(Context::Vector { vector: Vector::IrqWork, .. }))
    })?;
    Some(claim(case, pieces, &ABOUT, "the kernel ran deferred irq_work"))
}
