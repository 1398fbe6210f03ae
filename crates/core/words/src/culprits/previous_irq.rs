//! Words about previous-irq: other interrupts ran first.

use super::{Advice, FindingWords};
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::ForeignInterrupts;

pub const ADVICE: Advice = Advice {
    title: "other interrupts ran first",
    confirm: "watch /proc/interrupts; /proc/irq/N/effective_affinity says where it may go",
    fix: "echo another CPU to /proc/irq/N/smp_affinity_list; threadirqs; keep senders of inter-processor interrupts away (isolcpus, nohz_full)",
};

pub fn words(facts: &ForeignInterrupts, share: Share) -> FindingWords {
    let (confirm, fix) = match facts.irq {
        Some(irq) => (
            format!("watch /proc/interrupts; /proc/irq/{irq}/effective_affinity says where it may go"),
            format!(
                "move the interrupt: echo another CPU to /proc/irq/{irq}/smp_affinity_list; threadirqs on the kernel command line; raise coalescing (ethtool -C) for a network card"
            ),
        ),
        None => (
            "watch the rows of /proc/interrupts below the devices; events ipi:ipi_send_cpu and csd:csd_queue_cpu name who sends".into(),
            "keep what sends it off this CPU (isolcpus, nohz_full, no shared address space with other CPUs)".into(),
        ),
    };
    FindingWords { confirm, fix, ..ADVICE.with(format!("{} ran first ({share})", holders(&facts.who))) }
}
