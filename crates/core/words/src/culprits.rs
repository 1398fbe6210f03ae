//! Words for findings: one module for each culprit, with its general advice and what it says of its facts.

mod named;
mod stated;

use crate::evidence;
use crate::voice::{Share, Voice};
use archive::culprit::{Culprit, Facts};
use archive::evidence::Evidence;
use archive::explanation::{Explanation, Finding};

/// General texts about a culprit.
#[derive(Debug, Clone, Copy)]
pub struct Advice {
    /// The culprit in a few words.
    pub title: &'static str,
    /// The command that confirms it.
    pub confirm: &'static str,
    /// What to change.
    pub fix: &'static str,
}

/// The words of one finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FindingWords {
    /// The culprit and its share.
    pub sentence: String,
    /// Lines of evidence that only this culprit has.
    pub evidence: Vec<String>,
    pub confirm: String,
    pub fix: String,
}

impl Advice {
    /// A finding with the general advice and no evidence of its own.
    fn with(&self, sentence: String) -> FindingWords {
        FindingWords { sentence, evidence: Vec::new(), confirm: self.confirm.into(), fix: self.fix.into() }
    }
}

macro_rules! modules {
    ($($variant:ident $id:literal $module:ident $facts:ident;)*) => {
        $(mod $module;)*

        /// General texts about a culprit; `None` if it is of another version.
        pub fn advice(culprit: &Culprit) -> Option<&'static Advice> {
            match culprit {
                $(Culprit::$variant => Some(&$module::ADVICE),)*
                Culprit::Other(_) => None,
            }
        }

        fn words(facts: &Facts, share: Share) -> FindingWords {
            match facts {
                $(Facts::$variant(facts) => $module::words(facts, share),)*
            }
        }
    };
}

archive::culprits!(modules);

/// Writes the words of every finding that has facts; the others keep theirs.
pub fn fill_in(explanation: &mut Explanation, voice: Voice) {
    for finding in &mut explanation.findings {
        fill_in_finding(finding, explanation.latency_ns, voice);
    }
}

fn fill_in_finding(finding: &mut Finding, latency_ns: i64, voice: Voice) {
    let Some(facts) = &finding.facts else { return };
    let FindingWords { mut sentence, evidence: own, confirm, fix } =
        words(facts, Share { ns: finding.ns, latency_ns, voice });
    let innocent = matches!(finding.culprit, Culprit::Steal | Culprit::Silence);
    for evidence in &finding.evidence_facts {
        if let Evidence::Function(spent) = evidence {
            sentence.push_str(&evidence::where_spent(spent, innocent));
        }
    }
    let line = |evidence: &Evidence| evidence::line(evidence, voice);
    let (events, others): (Vec<&Evidence>, Vec<&Evidence>) =
        finding.evidence_facts.iter().partition(|evidence| matches!(evidence, Evidence::Event(_)));
    finding.evidence = events.into_iter().map(line).chain(own).chain(others.into_iter().map(line)).collect();
    (finding.sentence, finding.confirm, finding.fix) = (sentence, confirm, fix);
}
