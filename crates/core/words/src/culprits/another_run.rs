//! Words about another-run: another measurement with this tool.

use super::{Advice, FindingWords, named};
use crate::voice::Share;
use archive::culprit::NamedHolders;

pub const ADVICE: Advice = Advice {
    title: "another measurement with this tool",
    confirm: "the run lists the other measurement (meter.another-run)",
    fix: "measure one after the other, or on CPUs that the other run leaves alone (--cpus)",
};

pub fn words(facts: &NamedHolders, share: Share) -> FindingWords {
    named::words(facts, share, &ADVICE, "another measurement with tardy ran on this machine")
}
