//! The document of `tardy explain --json`. Its shape is a promise; `explanation_version` counts its changes.

use archive::causes::RunCauses;
use archive::explanation::{Explanation, ExplanationStatus, Finding, Phase};
use archive::functions::FunctionAccount;
use archive::reader::Run;
use archive::spike::{Spike, SpikeReason};
use serde::Serialize;

const EXPLANATION_VERSION: u32 = 1;

/// Every spike of a run with its account, largest first, control samples last.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    explanation_version: u32,
    archive: String,
    spikes: Vec<Entry<'a>>,
    /// What the spikes have in common.
    causes: &'a RunCauses,
    /// What is missing or damaged in the archive.
    gaps: &'a [String],
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    spike: u32,
    cpu: u32,
    latency_ns: i64,
    median_ns: i64,
    reason: SpikeReason,
    status: ExplanationStatus,
    /// They sum to `latency_ns`.
    phases: &'a [Phase],
    findings: &'a [Finding],
    /// Absent when the trace has no functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<&'a FunctionAccount>,
    caveats: &'a [String],
}

pub fn of<'a>(run: &'a Run, explanations: &'a [Explanation], causes: &'a RunCauses) -> Document<'a> {
    let spike_of = |explanation: &Explanation| run.spikes.iter().find(|spike| spike.number == explanation.spike);
    let mut pairs: Vec<(&Spike, &Explanation)> =
        explanations.iter().filter_map(|explanation| Some((spike_of(explanation)?, explanation))).collect();
    pairs.sort_by_key(|(spike, explanation)| {
        (spike.reason == SpikeReason::Control, std::cmp::Reverse(explanation.latency_ns), spike.number)
    });
    Document {
        explanation_version: EXPLANATION_VERSION,
        archive: run.directory.display().to_string(),
        spikes: pairs.into_iter().map(|(spike, explanation)| entry(spike, explanation)).collect(),
        causes,
        gaps: &run.gaps,
    }
}

fn entry<'a>(spike: &Spike, explanation: &'a Explanation) -> Entry<'a> {
    Entry {
        spike: explanation.spike,
        cpu: spike.sample.cpu,
        latency_ns: explanation.latency_ns,
        median_ns: explanation.median_ns,
        reason: spike.reason,
        status: explanation.status,
        phases: &explanation.phases,
        findings: &explanation.findings,
        functions: explanation.functions.as_ref(),
        caveats: &explanation.caveats,
    }
}
