//! Words about memcg-drain: drain of a memory control group.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "drain of a memory control group",
    confirm: "the events workqueue:workqueue_execute_start with these functions on this CPU",
    fix: "use a newer kernel, which spares isolated CPUs; else do not create or remove memory cgroups, and let none reach its limit, while real-time work runs",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "the kernel drained the cached charges of a memory control group")
}
