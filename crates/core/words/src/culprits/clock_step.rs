//! Words about clock-step: the clock was stepped.

use super::{Advice, FindingWords};
use crate::figures::latency;
use crate::voice::Share;
use archive::culprit::ClockStep;

pub const ADVICE: Advice = Advice {
    title: "the clock was stepped",
    confirm: "`dmesg | grep -i clocksource`; adjtimex, or `chronyc tracking`, shows steps; CLOCK_BOOTTIME minus CLOCK_MONOTONIC grows over a suspend",
    fix: "measure with CLOCK_MONOTONIC, keep the machine awake, and discard this sample",
};

pub fn words(facts: &ClockStep, share: Share) -> FindingWords {
    ADVICE.with(format!(
        "the clock of the sample disagrees with the trace: the thread set its next timer {} before the recorded time of \
         the sample ({share})",
        latency(facts.early_ns)
    ))
}
