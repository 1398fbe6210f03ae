//! Words about nmi: non-maskable interrupt.

use super::{Advice, FindingWords};
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::HeldBy;

pub const ADVICE: Advice = Advice {
    title: "non-maskable interrupt",
    confirm: "watch the NMI row of /proc/interrupts",
    fix: "sysctl kernel.nmi_watchdog=0, stop perf sessions; if it persists, a device reports hardware errors",
};

pub fn words(facts: &HeldBy, share: Share) -> FindingWords {
    ADVICE.with(format!("a non-maskable interrupt had the CPU: {} ({share})", holders(&facts.who)))
}
