//! Words about smt: the other thread of the core was busy.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the other thread of the core was busy",
    confirm: "/sys/devices/system/cpu/cpuN/topology/thread_siblings_list names the sibling; compare with a run in which it is offline",
    fix: "echo off > /sys/devices/system/cpu/smt/control (nosmt), or isolate both threads of the core and leave one idle",
};
