//! Words about migration: the thread was moved to another CPU.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the thread was moved to another CPU",
    confirm: "taskset -p TID shows the CPUs it may use",
    fix: "pin the thread to one CPU",
};
