//! Words about thermal: the processor was too hot.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "the processor was too hot",
    confirm: "/sys/devices/system/cpu/cpu*/thermal_throttle/*_count rise; power:cpu_frequency shows the speed going down",
    fix: "cool the machine or lower its power limit; below full speed everything takes longer, so look at the frequency, too",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the processor reported its temperature")
}
