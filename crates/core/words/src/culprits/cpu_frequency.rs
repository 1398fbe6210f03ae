//! Words about cpu-frequency: a change of CPU frequency.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "a change of CPU frequency",
    confirm: "the events power:cpu_frequency; /sys/devices/system/cpu/cpufreq/policy*/stats/trans_table counts the changes",
    fix: "echo performance > /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor, or scaling_min_freq equal to scaling_max_freq; for a test, also switch turbo off",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the frequency governor changed the speed of a CPU")
}
