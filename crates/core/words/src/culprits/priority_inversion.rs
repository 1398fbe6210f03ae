//! Words about priority-inversion: priority inversion.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "priority inversion",
    confirm: "`perf lock` or `strace -f -e futex` shows the lock they share; lock:contention_begin, on newer kernels",
    fix: "a mutex that inherits priorities (PTHREAD_PRIO_INHERIT); a shorter section, or no shared lock at all",
};
