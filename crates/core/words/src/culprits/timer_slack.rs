//! Words about timer-slack: timer slack.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "timer slack",
    confirm: "/proc/PID/timerslack_ns",
    fix: "a real-time policy, or prctl(PR_SET_TIMERSLACK, 1)",
};
