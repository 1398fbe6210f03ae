//! Short documents about the late wake-ups of a run.

use crate::exit::UsageError;
use account::Account;
use account::brief::causes::BriefCauses;
use account::brief::evidence::BriefEvidence;
use account::brief::fitted::fitted;
use account::brief::short::Short;
use account::brief::spike::BriefSpike;
use serde::Serialize;
use words::printable::printable;
use words::spikes::numbers;

/// The part of a run that is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    Causes,
    Spike(u32),
    /// A piece of evidence by its identifier.
    Evidence(String),
}

#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Explained {
    Causes(BriefCauses),
    Spike(Box<BriefSpike>),
    Evidence(BriefEvidence),
}

impl Explained {
    /// With the name of a recording in the place of an archive that is not kept.
    pub fn of_recording(self, name: &str) -> Self {
        let archive = Short::text(name);
        match self {
            Self::Causes(causes) => Self::Causes(fitted(BriefCauses { archive, ..causes })),
            Self::Spike(spike) => Self::Spike(Box::new(fitted(BriefSpike { archive, ..*spike }))),
            Self::Evidence(evidence) => Self::Evidence(fitted(BriefEvidence { archive, ..evidence })),
        }
    }
}

/// Answers from an account.
///
/// # Errors
/// If the run has no such spike or evidence.
pub fn explained(account: &Account, asked: &Asked) -> Result<Explained, UsageError> {
    match asked {
        Asked::Causes => Ok(Explained::Causes(BriefCauses::of(account))),
        Asked::Spike(number) => {
            let spike = BriefSpike::of(account, *number).ok_or_else(|| no_spike(account, *number))?;
            Ok(Explained::Spike(Box::new(spike)))
        }
        Asked::Evidence(id) => BriefEvidence::of(account, id).map(Explained::Evidence).ok_or_else(|| no_evidence(id)),
    }
}

/// The refusal of a spike that a run does not have.
pub fn no_spike(account: &Account, number: u32) -> UsageError {
    let has: Vec<u32> = account.run().spikes.iter().map(|spike| spike.number).collect();
    UsageError(format!("this run has no spike {number}; its spikes: {}", numbers(&has)))
}

fn no_evidence(id: &str) -> UsageError {
    let id = printable(id);
    UsageError(format!("this run has no evidence {id}; the account of a spike lists the identifiers, such as 2.1.1"))
}
