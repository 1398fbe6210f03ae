//! A cause with the identifiers of its evidence.

use crate::brief::evidence;
use crate::brief::left_out::{LeftOut, drop_last};
use crate::brief::short::Short;
use archive::culprit::Facts;
use archive::explanation::{Confidence, Explanation, Finding};
use serde::Serialize;

/// Pieces of evidence that a finding names as long as it can.
const EVIDENCE_KEPT: usize = 2;

#[derive(Debug, Clone, Serialize)]
pub struct BriefFinding {
    pub culprit: Short,
    pub confidence: Confidence,
    pub ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub facts: Option<Facts>,
    /// Identifiers of pieces of evidence.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fix: Option<Short>,
}

/// The findings of an explanation.
pub fn all(explanation: &Explanation) -> Vec<BriefFinding> {
    (1..).zip(&explanation.findings).map(|(number, finding)| of(explanation.spike, number, finding)).collect()
}

fn of(spike: u32, number: usize, finding: &Finding) -> BriefFinding {
    BriefFinding {
        culprit: Short::name(finding.culprit.id()),
        confidence: finding.confidence,
        ns: finding.ns,
        facts: finding.facts.clone(),
        evidence: (1..=finding.evidence_facts.len()).map(|piece| evidence::id(spike, number, piece)).collect(),
        fix: Some(finding.fix.as_str()).filter(|fix| !fix.is_empty()).map(Short::text),
    }
}

impl BriefFinding {
    /// Drops evidence, facts, and the fix at last.
    pub fn shrink(&mut self, left_out: &mut LeftOut) -> bool {
        drop_last(&mut self.evidence, EVIDENCE_KEPT, &mut left_out.evidence)
            || taken(&mut self.facts, &mut left_out.facts)
            || drop_last(&mut self.evidence, 0, &mut left_out.evidence)
            || taken(&mut self.fix, &mut left_out.remarks)
    }
}

fn taken<T>(part: &mut Option<T>, count: &mut usize) -> bool {
    let was_there = part.take().is_some();
    *count += usize::from(was_there);
    was_there
}
