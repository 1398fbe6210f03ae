//! Words about clock-step: the clock was stepped.

use super::Advice;
pub use super::stated::words;

pub const ADVICE: Advice = Advice {
    title: "the clock was stepped",
    confirm: "`dmesg | grep -i clocksource`; adjtimex, or `chronyc tracking`, shows steps; CLOCK_BOOTTIME minus CLOCK_MONOTONIC grows over a suspend",
    fix: "measure with CLOCK_MONOTONIC, keep the machine awake, and discard this sample",
};
