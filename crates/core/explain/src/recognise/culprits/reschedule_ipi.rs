//! Other CPUs request this one to reschedule.

use super::about::{About, Proof};
use super::named::claim;
use super::previous_irq::is_foreign;
use crate::read::event::Vector;
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;

pub const ABOUT: About = About {
    recognised: "the reschedule interrupt is served between due and seen",
    confirm: "the row RES of /proc/interrupts; sched:sched_wakeup with target_cpu of this CPU names the woken task, and ipi:ipi_send_cpu the sender",
    fix: "keep every other task off this CPU (isolcpus, cpuset), so that nothing wakes up there",
    reading: &["SMP IRQ affinity", "CPUSETS"],
    proof: Proof::MadeUp,
};

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| {
        is_foreign(case, piece) && matches!(held(piece), Some(Context::Vector { vector: Vector::Reschedule, .. }))
    })?;
    Some(claim(case, pieces, &ABOUT, "another CPU asked this one to reschedule"))
}
