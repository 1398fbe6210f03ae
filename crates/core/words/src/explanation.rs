//! Writes the words of an explanation beside its facts.

use crate::voice::Voice;
use crate::{culprits, elsewhere, mark};
use archive::explanation::Explanation;

/// Writes the words of everything that has facts; the rest keeps its words.
pub fn fill_in(explanation: &mut Explanation, voice: Voice) {
    let latency_ns = explanation.latency_ns;
    for finding in &mut explanation.findings {
        culprits::fill_in(finding, latency_ns, voice);
    }
    if !explanation.elsewhere_facts.is_empty() {
        let facts = explanation.elsewhere_facts.iter();
        explanation.elsewhere = facts.map(|fact| elsewhere::sentence(fact, latency_ns, voice)).collect();
    }
    for marked in &mut explanation.marks {
        if let Some(event) = &marked.event {
            marked.text = mark::text(event, marked.cpu);
        }
    }
}
