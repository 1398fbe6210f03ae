//! In a guest: the timer interrupt came late while a task ran that cannot have masked it for so long.
//!
//! The locks that mask interrupts disable preemption too, until after they have enabled interrupts again. Preemption enabled
//! where the interrupt came in at last means that no such lock was held: the hypervisor did not run the CPU.

use super::about::{About, Proof};
use crate::case::{Case, Claim};
use crate::event::Event;
use archive::explanation::Confidence;

pub const ABOUT: About = About {
    recognised: "in a guest: the timer interrupt comes late on top of a task, with preemption enabled where it comes in",
    confirm: "on the host: perf kvm stat, or kvm:kvm_exit and kvm:kvm_entry of this virtual CPU",
    fix: "on the host: virtual CPUs pinned one to one on isolated CPUs, SCHED_FIFO for their threads, no overcommitment",
    reading: &["The KVM halt polling system"],
    proof: Proof::Real,
};

/// A shorter delay may be a short masked section of the kernel's entry code.
const UNLOCKED_NS_MIN: i64 = 50_000;

pub fn look<'c>(case: &Case<'c>) -> Option<Claim<'c>> {
    let host = case.virtualised()?;
    let pieces = case.claim(super::irqs_off::is_late_in_task)?;
    let entry = case.wake_interrupt_entry()?;
    if entry.preempt_off() || !counts_preemption(case) || case.ns(&pieces) < UNLOCKED_NS_MIN {
        return None;
    }
    Some(Claim {
        confidence: Confidence::Likely,
        sentence: format!(
            "the hypervisor ({host}) did not run this CPU, or held the timer interrupt back, while {} was on it ({})",
            case.culprits(&pieces),
            case.share(&pieces)
        ),
        events: vec![entry],
        evidence: ["preemption was enabled where the interrupt came in: no lock that masks interrupts was held".into()]
            .into_iter()
            .chain(case.steal_line())
            .collect(),
        confirm: "on the host: perf kvm stat, or trace kvm:kvm_exit and kvm:kvm_entry of this virtual CPU".into(),
        fix: "on the host: pin virtual CPUs one to one, isolate those CPUs, SCHED_FIFO for their threads, no overcommitment"
            .into(),
        pieces,
    })
}

/// Whether this kernel counts preemption at all: one without CONFIG_PREEMPT_COUNT shows 0 everywhere.
fn counts_preemption(case: &Case) -> bool {
    case.scene.cpus.iter().flat_map(|story| &story.events).any(Event::preempt_off)
}
