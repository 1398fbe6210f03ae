//! Words about own-work: the thread's own work.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the thread's own work",
    confirm: "perf record -t TID shows where it spends its time",
    fix: "do less work in a cycle, or use a longer cycle",
};
