//! The account of one spike: who had the CPU, the causes with their evidence, and what would decide an open question.

mod finding;
mod ledger;

use super::BRIEF_VERSION;
use super::fitted::{Shrink, fitted};
use super::left_out::{LeftOut, drop_last};
use super::observations::{Deciding, deciding};
use super::short::Short;
use crate::Account;
use archive::explanation::ExplanationStatus;
use archive::spike::Spike;
use finding::BriefFinding;
use ledger::BriefPhase;
use serde::Serialize;

/// Findings after the first that an answer keeps as long as it can.
const FINDINGS_KEPT: usize = 2;

#[derive(Debug, Clone, Serialize)]
pub struct BriefSpike {
    pub brief_version: u32,
    pub archive: Short,
    pub spike: u32,
    pub cpu: u32,
    pub latency_ns: i64,
    pub median_ns: i64,
    /// Whether it counts as a spike; the others are ordinary samples.
    pub late: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    pub status: ExplanationStatus,
    /// Phases in order; owners by their time.
    pub phases: Vec<BriefPhase>,
    /// Most important first.
    pub findings: Vec<BriefFinding>,
    /// Codes of the limits of the account.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caveats: Vec<Short>,
    /// Observations that would make it certain; empty if it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub decided_by: Vec<Deciding>,
    #[serde(skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
}

impl BriefSpike {
    /// The account of a spike; `None` if the run has no such spike.
    pub fn of(account: &Account, number: u32) -> Option<Self> {
        let run = account.run();
        let spike = run.spikes.iter().find(|spike| spike.number == number)?;
        Some(fitted(Self::whole(account, spike)?))
    }

    fn whole(account: &Account, spike: &Spike) -> Option<Self> {
        let (run, explanation) = (account.run(), account.explanation_of(spike.number)?);
        Some(Self {
            brief_version: BRIEF_VERSION,
            archive: Short::text(&run.directory.display().to_string()),
            spike: spike.number,
            cpu: spike.sample.cpu,
            latency_ns: explanation.latency_ns,
            median_ns: explanation.median_ns,
            late: run.is_late(spike),
            virtual_time: run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time),
            status: explanation.status,
            phases: explanation.phases.iter().map(BriefPhase::of).collect(),
            findings: finding::all(explanation),
            caveats: explanation.caveats.iter().map(|caveat| Short::name(caveat.code.as_str())).collect(),
            decided_by: deciding(explanation),
            left_out: LeftOut::default(),
        })
    }

    fn with_fewer_findings(&mut self) -> bool {
        drop_last(&mut self.findings, 1 + FINDINGS_KEPT, &mut self.left_out.findings)
    }

    fn with_less_of_findings(&mut self) -> bool {
        self.findings.iter_mut().rev().any(|finding| finding.shrink(&mut self.left_out))
    }
}

impl Shrink for BriefSpike {
    fn shrink(&mut self) -> bool {
        self.with_fewer_findings()
            || ledger::with_fewer_owners(&mut self.phases, &mut self.left_out.owners)
            || self.with_less_of_findings()
            || drop_last(&mut self.findings, 1, &mut self.left_out.findings)
            || ledger::with_fewer_phases(&mut self.phases, &mut self.left_out.phases)
            || drop_last(&mut self.caveats, 0, &mut self.left_out.remarks)
            || drop_last(&mut self.decided_by, 1, &mut self.left_out.observations)
    }
}
