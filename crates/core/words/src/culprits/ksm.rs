//! Words about ksm: identical pages were merged (KSM).

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "identical pages were merged (KSM)",
    confirm: "/sys/kernel/mm/ksm/run is 1 and full_scans beside it rises",
    fix: "echo 2 > /sys/kernel/mm/ksm/run stops KSM and unmerges all pages",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel merged identical pages")
}
