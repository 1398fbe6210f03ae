//! Words about fair-server: the fair server.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the fair server",
    confirm: "/sys/kernel/debug/sched/fair_server/cpuN/runtime says how many ns of each period (beside it) ordinary tasks get; 50 ms of 1 s by default",
    fix: "leave ordinary tasks 5 % of the CPU; or echo 0 > /sys/kernel/debug/sched/fair_server/cpuN/runtime",
};
