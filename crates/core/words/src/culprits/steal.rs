//! Words about steal: the hypervisor did not run this CPU.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the hypervisor did not run this CPU",
    confirm: "on the host: perf kvm stat, or kvm:kvm_exit and kvm:kvm_entry of this virtual CPU",
    fix: "on the host: virtual CPUs pinned one to one on isolated CPUs, SCHED_FIFO for their threads, no overcommitment",
};
