//! Words about cpu-hotplug: a CPU went on- or offline.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "a CPU went on- or offline",
    confirm: "dmesg names the CPU; the events cpuhp:cpuhp_enter and cpuhp:cpuhp_exit name each step",
    fix: "do not take CPUs on- or offline while real-time work runs, by hand or by a power daemon or thermal hotplug",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "a CPU was going online or offline")
}
