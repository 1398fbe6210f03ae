//! Words about page-fault: page fault of the thread.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "page fault of the thread",
    confirm: "fields 10 and 12 of /proc/PID/task/TID/stat count minor and major faults",
    fix: "mlockall(MCL_CURRENT | MCL_FUTURE), touch all memory before the loop, no fork, mallopt(M_TRIM_THRESHOLD, -1) and mallopt(M_MMAP_MAX, 0)",
};
