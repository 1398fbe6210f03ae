//! Words about timer-slack: timer slack.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::voice::Share;
use archive::culprit::TimerSlack;

pub const ADVICE: Advice = Advice {
    title: "timer slack",
    confirm: "/proc/PID/timerslack_ns",
    fix: "a real-time policy, or prctl(PR_SET_TIMERSLACK, 1)",
};

pub fn words(facts: &TimerSlack, share: Share) -> FindingWords {
    FindingWords {
        confirm: format!("/proc/{}/timerslack_ns", facts.tid),
        fix: "give the thread a real-time policy (chrt -f), or prctl(PR_SET_TIMERSLACK, 1) in it".into(),
        ..ADVICE.with(format!("the kernel used the slack of {} that this timer has ({share})", latency(facts.slack_ns)))
    }
}
