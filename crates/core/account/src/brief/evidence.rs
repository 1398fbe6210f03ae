//! One piece of evidence by its identifier: `SPIKE.FINDING.PIECE`, each counted from 1 but the spike, which has its number.

use super::BRIEF_VERSION;
use super::fitted::{Shrink, fitted};
use super::left_out::LeftOut;
use super::short::Short;
use crate::Account;
use archive::evidence::Evidence;
use serde::Serialize;

/// The identifier of a piece of evidence.
pub fn id(spike: u32, finding: usize, piece: usize) -> String {
    format!("{spike}.{finding}.{piece}")
}

#[derive(Debug, Clone, Serialize)]
pub struct BriefEvidence {
    pub brief_version: u32,
    pub archive: Short,
    pub id: Short,
    pub culprit: Short,
    /// Absent if it does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    #[serde(skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
}

impl BriefEvidence {
    /// The piece of evidence with an identifier; `None` if the run has none.
    pub fn of(account: &Account, id: &str) -> Option<Self> {
        let [spike, finding, piece] = numbers(id)?;
        let explanation = account.explanation_of(spike.try_into().ok()?)?;
        let found = explanation.findings.get(finding.checked_sub(1)?)?;
        let evidence = found.evidence_facts.get(piece.checked_sub(1)?)?;
        Some(fitted(Self {
            brief_version: BRIEF_VERSION,
            archive: Short::text(&account.run().directory.display().to_string()),
            id: Short::name(id),
            culprit: Short::name(found.culprit.id()),
            evidence: Some(evidence.clone()),
            left_out: LeftOut::default(),
        }))
    }
}

fn numbers(id: &str) -> Option<[usize; 3]> {
    let parts: Vec<usize> = id.split('.').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    parts.try_into().ok()
}

impl Shrink for BriefEvidence {
    fn shrink(&mut self) -> bool {
        let dropped = self.evidence.take().is_some();
        self.left_out.evidence += usize::from(dropped);
        dropped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_have_three_numbers() {
        assert_eq!(numbers(&id(7, 1, 2)), Some([7, 1, 2]));
        for other in ["", "7", "7.1", "7.1.2.3", "7.1.-2", "a.b.c", "99999999999999999999.1.1"] {
            assert_eq!(numbers(other), None, "{other}");
        }
    }
}
