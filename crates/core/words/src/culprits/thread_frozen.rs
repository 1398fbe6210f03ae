//! Words about thread-frozen: the thread was frozen.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the thread was frozen",
    confirm: "cgroup.freeze or freezer.state of its control group; cgroup:cgroup_freeze; docker pause, a suspend, a checkpoint (CRIU)",
    fix: "do not freeze the control group of the process during a measurement; such a sample says nothing about the kernel",
};
