//! The document of `tardy explain --json`. Its format is stable; `explanation_version` counts its changes.

use ::account::Account;
use archive::causes::RunCauses;
use archive::caveat::Caveat;
use archive::explanation::{Explanation, ExplanationStatus, Finding, Mark, Phase};
use archive::functions::FunctionAccount;
use archive::other_cpus::OtherCpus;
use archive::own_code::OwnCode;
use archive::problem::Remark;
use archive::reader::Run;
use archive::spike::{Spike, SpikeReason};
use archive::tracer::LatencyTrace;
use serde::Serialize;

const EXPLANATION_VERSION: u32 = 1;

/// Every spike of a run with its account, largest first, control samples last.
#[derive(Debug, Serialize)]
pub struct Document<'a> {
    explanation_version: u32,
    archive: String,
    /// The clock counts instructions: a latency is not a time of real hardware.
    virtual_time: bool,
    spikes: Vec<Entry<'a>>,
    /// The common causes of the spikes.
    causes: &'a RunCauses,
    /// Traces that a latency tracer of the kernel kept, longest first; the kernel's text is `tracer/<number, four
    /// digits>.txt`.
    latency_traces: &'a [LatencyTrace],
    /// Missing or damaged parts of the archive.
    gaps: &'a [Remark],
}

#[derive(Debug, Serialize)]
struct Entry<'a> {
    spike: u32,
    cpu: u32,
    latency_ns: i64,
    median_ns: i64,
    reason: SpikeReason,
    status: ExplanationStatus,
    /// Whether it counts as a spike; the others are ordinary wake-ups that were captured.
    late: bool,
    /// They sum to `latency_ns`.
    phases: &'a [Phase],
    findings: &'a [Finding],
    /// Instants on the way, relative to due.
    marks: &'a [Mark],
    /// The part of other CPUs in it, and their activity meanwhile.
    elsewhere_facts: &'a [OtherCpus],
    /// The same in words.
    elsewhere: &'a [String],
    /// Absent if the trace has no functions.
    #[serde(skip_serializing_if = "Option::is_none")]
    functions: Option<&'a FunctionAccount>,
    /// Absent without samples of the thread's stack.
    #[serde(skip_serializing_if = "Option::is_none")]
    own_code: Option<&'a OwnCode>,
    /// Present if it was recorded in virtual time from outside the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    recording: Option<Recording<'a>>,
    caveats: &'a [Caveat],
}

/// The evidence for an account in virtual time.
#[derive(Debug, Serialize)]
struct Recording<'a> {
    virtual_time: bool,
    samples_identical: u64,
    sha256: &'a str,
    /// Time that the recording added to the guest's time.
    ns_added: u64,
}

pub fn of(account: &Account) -> Document<'_> {
    let (run, explanations) = (account.run(), account.explanations());
    let spike_of = |explanation: &Explanation| run.spikes.iter().find(|spike| spike.number == explanation.spike);
    let mut pairs: Vec<(&Spike, &Explanation)> =
        explanations.iter().filter_map(|explanation| Some((spike_of(explanation)?, explanation))).collect();
    pairs.sort_by_key(|(spike, explanation)| {
        (!run.is_late(spike), spike.is_control(), std::cmp::Reverse(explanation.latency_ns), spike.number)
    });
    Document {
        explanation_version: EXPLANATION_VERSION,
        archive: run.directory.display().to_string(),
        virtual_time: run.manifest.as_ref().is_some_and(|manifest| manifest.virtual_time),
        spikes: pairs.into_iter().map(|(spike, explanation)| entry(run, spike, explanation)).collect(),
        causes: account.causes(),
        latency_traces: &account.summary().latency_traces,
        gaps: &run.gaps,
    }
}

fn entry<'a>(run: &Run, spike: &Spike, explanation: &'a Explanation) -> Entry<'a> {
    Entry {
        spike: explanation.spike,
        cpu: spike.sample.cpu,
        latency_ns: explanation.latency_ns,
        median_ns: explanation.median_ns,
        reason: spike.reason,
        late: run.is_late(spike),
        status: explanation.status,
        phases: &explanation.phases,
        findings: &explanation.findings,
        marks: &explanation.marks,
        elsewhere_facts: &explanation.elsewhere_facts,
        elsewhere: &explanation.elsewhere,
        functions: explanation.functions.as_ref(),
        own_code: explanation.own_code.as_ref(),
        recording: explanation.recording.as_ref().map(|recording| Recording {
            virtual_time: true,
            samples_identical: recording.samples_identical,
            sha256: &recording.sha256,
            ns_added: 0,
        }),
        caveats: &explanation.caveats,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::account::ExplanationSource;

    #[test]
    fn what_the_tracers_of_the_kernel_kept_is_there_longest_first() {
        let kept = |number, latency_ns| LatencyTrace {
            number,
            latency_ns,
            tracer: "irqsoff".into(),
            ..LatencyTrace::default()
        };
        let run = Run { latency_traces: vec![kept(1, 2000), kept(2, 9000)], ..Run::default() };
        let account = Account::of(run, ExplanationSource::Stored);
        let document = serde_json::to_value(of(&account)).unwrap();
        let traces = document["latency_traces"].as_array().unwrap();
        let numbers: Vec<_> =
            traces.iter().map(|trace| (trace["number"].as_u64(), trace["latency_ns"].as_i64())).collect();
        assert_eq!(numbers, [(Some(2), Some(9000)), (Some(1), Some(2000))]);
    }
}
