//! The proof of a run by its length.

use crate::amounts::{hours, hours_more, percent, time};
use crate::new_cause::{self, share};
use crate::sentence::sentence;
use archive::causes::NewCause;
use archive::method::SampleWord;
use claims::proof::Proof;

/// The meaning of the maximum, the chance of a new cause, and the lengths of tests, one sentence each.
pub fn sentences(proof: &Proof, causes: Option<&NewCause>, word: SampleWord, max_ns: i64) -> Vec<String> {
    let mut sentences = Vec::new();
    // Of several practically certain horizons, one is enough.
    let certain = proof.new_maximum.iter().position(|next| next.probability > 0.999).unwrap_or(usize::MAX);
    let later: Vec<String> = proof
        .new_maximum
        .iter()
        .take(certain.saturating_add(1))
        .map(|next| format!("{} in the next {}", share(next.probability), hours(next.next_hours)))
        .collect();
    sentences.push(format!(
        "The maximum of {} is not a bound: if one hour is like another, a new one comes with a probability of up to {}.",
        time(max_ns as f64),
        later.join(", ")
    ));
    sentences.extend(causes.iter().map(|seen| sentence(&new_cause::clause(word, seen, proof.confidence))));
    let lengths: Vec<String> =
        proof.test_lengths.iter().map(|length| format!("{} for {}", hours_more(length.hours), length.rate)).collect();
    sentences.push(format!(
        "To show with {} confidence that something comes less often takes a test without it of {}.",
        percent(proof.confidence),
        lengths.join(", ")
    ));
    let lengths: Vec<String> = proof
        .quantile_lengths
        .iter()
        .map(|length| format!("{} for {}", hours_more(length.hours), length.rate))
        .collect();
    if !lengths.is_empty() {
        sentences.push(format!(
            "The interval of a higher quantile has an upper end after {} or more; each end has half of the error.",
            lengths.join(", ")
        ));
    }
    sentences
}
