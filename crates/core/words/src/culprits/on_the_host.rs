//! Fixes where the hypervisor has the CPU.

pub const CONFIRM: &str = "on the host: perf kvm stat, or trace kvm:kvm_exit and kvm:kvm_entry of this virtual CPU";
pub const FIX: &str =
    "on the host: pin virtual CPUs one to one, isolate those CPUs, SCHED_FIFO for their threads, no overcommitment";
