//! Words about culprits that are recognised by names.

use super::{Advice, FindingWords};
use crate::holders::holders;
use crate::voice::Share;
use archive::culprit::NamedHolders;

/// The general advice, after `what` the named ones did.
pub fn words(facts: &NamedHolders, share: Share, advice: &Advice, what: &str) -> FindingWords {
    let verb = if facts.is_thread { "kept the CPU" } else { "ran first" };
    let asked = facts
        .asked_with_preemption_off
        .then(|| "the kernel had asked it to yield (N) with preemption disabled".to_owned());
    FindingWords {
        evidence: asked.into_iter().collect(),
        ..advice.with(format!("{what}: {} {verb} ({share})", holders(&facts.who)))
    }
}
