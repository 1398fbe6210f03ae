//! Words about clocksource-watchdog: the kernel checked its clocks.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "the kernel checked its clocks",
    confirm: "`dmesg | grep -i clocksource`; /sys/devices/system/clocksource/clocksource0/current_clocksource",
    fix: "tsc=reliable (or tsc=nowatchdog) on the kernel command line, once it is known that the TSC of this machine is stable",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel checked its clock against another one")
}
