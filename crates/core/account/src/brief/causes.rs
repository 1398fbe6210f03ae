//! Causes of the late wake-ups of a run, and its worst spikes.

mod group;
mod remarks;

use super::BRIEF_VERSION;
use super::fitted::{Shrink, fitted};
use super::left_out::{LeftOut, drop_last};
use super::short::Short;
use crate::Account;
use archive::explanation::{Confidence, ExplanationStatus};
use archive::summary::SpikeSummary;
use archive::tracer::LatencyTrace;
use group::BriefCause;
use remarks::BriefRemark;
use serde::Serialize;

/// Spikes that an answer names.
const WORST: usize = 5;

#[derive(Debug, Clone, Serialize)]
pub struct BriefCauses {
    pub brief_version: u32,
    pub archive: Short,
    pub valid: bool,
    /// Codes of the reasons why the figures must not be used.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub invalid_because: Vec<Short>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub virtual_time: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub emulated: bool,
    /// The tool that measured, if it was not tardy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub imported: Option<Short>,
    pub target: Short,
    pub samples: u64,
    pub latency_ns_p50: Option<i64>,
    pub latency_ns_max: Option<i64>,
    pub late: usize,
    pub causes: Vec<BriefCause>,
    pub worst: Vec<BriefWorst>,
    /// Traces of a latency tracer of the kernel, longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub latency_traces: Vec<BriefLatencyTrace>,
    /// Gaps of the archive or the recording, and problems of the run.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub remarks: Vec<BriefRemark>,
    #[serde(skip_serializing_if = "LeftOut::is_nothing")]
    pub left_out: LeftOut,
}

/// A late wake-up and its first finding.
#[derive(Debug, Clone, Serialize)]
pub struct BriefWorst {
    pub spike: u32,
    pub cpu: u32,
    pub latency_ns: i64,
    pub status: Option<ExplanationStatus>,
    pub culprit: Option<Short>,
    pub confidence: Option<Confidence>,
}

/// A stretch that a latency tracer kept, such as the longest with interrupts off.
#[derive(Debug, Clone, Serialize)]
pub struct BriefLatencyTrace {
    pub tracer: Short,
    pub latency_ns: i64,
}

impl BriefCauses {
    pub fn of(account: &Account) -> Self {
        fitted(Self::whole(account))
    }

    fn whole(account: &Account) -> Self {
        let summary = account.explained_summary();
        let cycles = summary.deciding().map(|cpu| cpu.cycles).fold(0, u64::saturating_add);
        Self {
            brief_version: BRIEF_VERSION,
            archive: Short::text(&summary.archive),
            valid: summary.valid,
            invalid_because: summary.invalid_because.iter().map(|why| Short::name(why.code.as_str())).collect(),
            virtual_time: summary.virtual_time,
            emulated: summary.emulated,
            imported: summary.imported.as_ref().map(|imported| Short::name(&imported.tool)),
            target: Short::name(&summary.target),
            samples: cycles,
            latency_ns_p50: summary.all_cpus.p50,
            latency_ns_max: summary.all_cpus.max,
            late: summary.late_spikes().count(),
            causes: account.causes().groups.iter().map(BriefCause::of).collect(),
            worst: summary.late_spikes().take(WORST).map(BriefWorst::of).collect(),
            latency_traces: summary.latency_traces.iter().take(WORST).map(BriefLatencyTrace::of).collect(),
            remarks: remarks::all(&summary),
            left_out: LeftOut::default(),
        }
    }
}

impl BriefWorst {
    fn of(entry: &SpikeSummary) -> Self {
        let explanation = entry.explanation.as_ref();
        let first = explanation.and_then(|explanation| explanation.findings.first());
        Self {
            spike: entry.spike.number,
            cpu: entry.spike.sample.cpu,
            latency_ns: entry.latency_ns,
            status: explanation.map(|explanation| explanation.status),
            culprit: first.map(|finding| Short::name(finding.culprit.id())),
            confidence: first.map(|finding| finding.confidence),
        }
    }
}

impl BriefLatencyTrace {
    fn of(trace: &LatencyTrace) -> Self {
        Self { tracer: Short::name(&trace.tracer), latency_ns: trace.latency_ns }
    }
}

impl Shrink for BriefCauses {
    fn shrink(&mut self) -> bool {
        let left_out = &mut self.left_out;
        drop_last(&mut self.causes, 5, &mut left_out.causes)
            || drop_last(&mut self.worst, 2, &mut left_out.spikes)
            || drop_last(&mut self.remarks, 2, &mut left_out.remarks)
            || drop_last(&mut self.latency_traces, 1, &mut left_out.spikes)
            || drop_last(&mut self.causes, 1, &mut left_out.causes)
            || drop_last(&mut self.invalid_because, 1, &mut left_out.remarks)
            || drop_last(&mut self.remarks, 0, &mut left_out.remarks)
            || drop_last(&mut self.worst, 1, &mut left_out.spikes)
            || self.causes.iter_mut().any(|cause| cause.shrink(left_out))
    }
}
