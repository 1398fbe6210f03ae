//! Other interrupts were handled between due and seen.

use super::about::{About, Proof};
use crate::recognise::case::{Case, Claim, held};
use crate::replay::context::Context;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "another interrupt is served between due and seen",
    confirm: "watch /proc/interrupts; /proc/irq/N/effective_affinity says where it may go",
    fix: "echo another CPU to /proc/irq/N/smp_affinity_list; threadirqs; keep senders of inter-processor interrupts away (isolcpus, nohz_full)",
    reading: &["SMP IRQ affinity"],
    proof: Proof::Real,
};

/// Interrupts other than the one that caused the wake-up.
pub fn is_foreign(case: &Case, piece: &crate::account::ledger::Piece) -> bool {
    held(piece).is_some_and(Context::is_hardirq) && !case.is_wake_interrupt(piece)
}

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let pieces = case.claim(|piece| is_foreign(case, piece))?;
    let who = case.culprits(&pieces);
    let device = pieces.iter().find_map(|&index| match case.pieces[index].answer.context() {
        Context::Irq { irq, .. } => Some(irq),
        _ => None,
    });
    let confirm = match device {
        Some(irq) => format!("watch /proc/interrupts; /proc/irq/{irq}/effective_affinity says where it may go"),
        None => "watch the rows of /proc/interrupts below the devices; events ipi:ipi_send_cpu and csd:csd_queue_cpu name who sends".into(),
    };
    let fix = match device {
        Some(irq) => format!(
            "move it: echo another CPU to /proc/irq/{irq}/smp_affinity_list; threadirqs on the kernel command line; raise coalescing (ethtool -C) for a network card"
        ),
        None => "keep what sends it off this CPU (isolcpus, nohz_full, no shared address space with other CPUs)".into(),
    };
    Some(Claim {
        confidence: Confidence::Certain,
        sentence: format!("{who} ran first ({})", case.share(&pieces)),
        events: Vec::new(),
        evidence: Vec::new(),
        confirm,
        fix,
        pieces,
    })
}
