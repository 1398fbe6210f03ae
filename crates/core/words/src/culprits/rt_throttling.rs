//! Words about rt-throttling: real-time throttling.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "real-time throttling",
    confirm: "dmesg says `sched: RT throttling activated`, once a boot; kernel.sched_rt_runtime_us of each kernel.sched_rt_period_us are allowed",
    fix: "fix the real-time task that uses 95 % of a CPU; then, with care, sysctl kernel.sched_rt_runtime_us=-1; in a control group of version 1, a larger cpu.rt_runtime_us",
};
