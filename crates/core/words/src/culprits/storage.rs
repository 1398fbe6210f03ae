//! Words about storage: disk or memory card.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "disk or memory card",
    confirm: "the events block:block_rq_issue and block:block_rq_complete name device and writer",
    fix: "move the interrupt of the storage (smp_affinity_list) and the workers (/sys/devices/virtual/workqueue/cpumask) to another CPU; write logs and measurements to a tmpfs",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "a storage device needed the CPU")
}
