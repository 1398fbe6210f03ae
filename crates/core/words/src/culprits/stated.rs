//! Words of culprits whose facts are still sentences; gone as soon as every culprit has facts.

use super::FindingWords;
use crate::voice::Share;
use archive::culprit::Stated;

pub fn words(facts: &Stated, share: Share) -> FindingWords {
    // A watched thread is not called a measuring thread.
    let voice = |text: &str| text.replace("the measuring thread", share.voice.thread());
    FindingWords {
        sentence: voice(&facts.sentence),
        evidence: facts.evidence.clone(),
        confirm: voice(&facts.confirm),
        fix: voice(&facts.fix),
    }
}
