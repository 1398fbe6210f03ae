//! The observations that would decide why a wake-up was late.

use super::short::Short;
use archive::explanation::{Confidence, Explanation, ExplanationStatus, Finding, Owner, OwnerKind};
use serde::Serialize;
use words::observation::Observation;

/// Hints whose confirmation an answer names.
const HINTS: usize = 2;

#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Deciding {
    /// Confirms a culprit.
    Confirmation {
        confirms: Short,
        how: Short,
    },
    Missing {
        observation: Observation,
        how: &'static str,
    },
}

/// The observations that would make an explanation certain.
pub fn deciding(explanation: &Explanation) -> Vec<Deciding> {
    let confirmations = explanation.findings.iter().take(HINTS).filter_map(confirmation);
    match explanation.status {
        ExplanationStatus::NoTrace => vec![of(Observation::Trace)],
        ExplanationStatus::NotExplained => confirmations.chain(missing(explanation).map(of)).collect(),
        ExplanationStatus::Explained => confirmations.take(1).collect(),
    }
}

fn confirmation(finding: &Finding) -> Option<Deciding> {
    let is_open = finding.confidence < Confidence::Certain && !finding.confirm.is_empty();
    is_open.then(|| Deciding::Confirmation {
        confirms: Short::name(finding.culprit.id()),
        how: Short::text(&finding.confirm),
    })
}

/// The observation of the owner that had the CPU for the longest time.
fn missing(explanation: &Explanation) -> Option<Observation> {
    let owners = explanation.phases.iter().flat_map(|phase| &phase.owners);
    owners.max_by_key(|owner| owner.ns).map(of_owner)
}

fn of_owner(owner: &Owner) -> Observation {
    match owner.kind {
        OwnerKind::Untraced => Observation::CompleteTrace,
        OwnerKind::SilenceAllCpus => Observation::Firmware,
        OwnerKind::Steal => Observation::Host,
        OwnerKind::Idle | OwnerKind::Own | OwnerKind::Tool => Observation::Samples,
        OwnerKind::Nmi
        | OwnerKind::Hardirq
        | OwnerKind::Softirq
        | OwnerKind::Task
        | OwnerKind::RtTask
        | OwnerKind::SilenceThisCpu => Observation::Functions,
    }
}

fn of(observation: Observation) -> Deciding {
    Deciding::Missing { observation, how: observation.how() }
}
