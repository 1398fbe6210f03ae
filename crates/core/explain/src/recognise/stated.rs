//! Claims of culprits whose facts are still sentences; gone as soon as every culprit has facts.

use super::case;
use crate::read::event::Event;
use archive::culprit::{Culprit, Facts, Stated};
use archive::explanation::Confidence;

/// [`case::Claim`] with words.
pub struct Claim<'c> {
    pub pieces: Vec<usize>,
    pub confidence: Confidence,
    pub sentence: String,
    pub events: Vec<Event<'c>>,
    pub evidence: Vec<String>,
    pub confirm: String,
    pub fix: String,
}

impl<'c> Claim<'c> {
    pub fn map(self, variant: fn(Stated) -> Facts) -> case::Claim<'c, Facts> {
        let Self { pieces, confidence, sentence, events, evidence, confirm, fix } = self;
        let facts = variant(Stated { sentence, evidence, confirm, fix });
        case::Claim { pieces, confidence, facts, events, evidence: Vec::new() }
    }
}

pub fn confirm(culprit: &Culprit) -> String {
    words::culprits::advice(culprit).map_or_else(String::new, |advice| advice.confirm.into())
}

pub fn fix(culprit: &Culprit) -> String {
    words::culprits::advice(culprit).map_or_else(String::new, |advice| advice.fix.into())
}
