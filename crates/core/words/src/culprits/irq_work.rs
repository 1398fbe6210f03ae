//! Words about irq-work: deferred irq_work.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "deferred irq_work",
    confirm: "the row IWI of /proc/interrupts; ipi:ipi_send_cpu with callsite=irq_work_queue* names the sender",
    fix: "stop perf sessions and programs that log to the kernel; sysctl kernel.nmi_watchdog=0; no other reader of the kernel trace while measuring",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel ran deferred irq_work")
}
