//! Words about thread-stopped: the thread was stopped.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the thread was stopped",
    confirm: "look for SIGSTOP, a debugger or a suspended shell job; signal:signal_generate shows who sends the signal",
    fix: "do not stop the process during a measurement; such a sample says nothing about the kernel",
};
