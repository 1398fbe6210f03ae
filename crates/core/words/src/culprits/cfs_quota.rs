//! Words about cfs-quota: the control group used up its CPU quota.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the control group used up its CPU quota",
    confirm: "nr_throttled and throttled_usec in cpu.stat of its control group rise",
    fix: "echo max > cpu.max of its control group (docker run without --cpus, Kubernetes without a CPU limit), or give the thread a real-time priority",
};
