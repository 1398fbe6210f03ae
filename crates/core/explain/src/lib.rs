//! Turns a snapshot and a late sample into a ledger and a culprit.
//!
//! Data flow, one folder per step: `read` turns the bytes of a trace into typed events, `replay` determines the context
//! on each CPU at each instant, `cut` divides the wake-up into phases, `account` assigns every nanosecond to one phase
//! and one owner, `recognise` looks for known culprits in that account, and `decide` checks whether their explanations
//! suffice.
//!
//! This crate does no I/O and reads no clock, and no input makes it fail.

#![deny(clippy::disallowed_methods)]

mod account;
pub mod corpus_case;
mod cut;
mod decide;
mod read;
mod recognise;
pub mod recorder;
mod replay;
pub mod scheduling_bound;

pub use account::stretches::{Stretch, stretches};
pub use decide::run_analysis;
pub use read::{decode, event, flight, names, recording, window};
pub use recognise::culprits;
pub use replay::{context, timeline};

use account::{Account, event_list, key_events, lanes, ledger, other_cpus, own_code};
use archive::absence::Absence;
use archive::caveat::{Caveat, Limit};
use archive::culprit::Culprit;
use archive::environment::Environment;
use archive::evidence::Evidence;
use archive::explanation::{
    Confidence, Explanation, ExplanationStatus, Finding, Owner, OwnerKind, Phase, PhaseName, PhaseSpan,
};
use archive::method::{SampleWord, Stimulus};
use archive::spike::Spike;
use archive::stacks::NamedStacks;
use decide::verdict;
pub use ftrace::trace_dat::{ReadAt, Source};
use read::window::Window;
use recognise::case::{Case, WakeInterrupt};
use recognise::functions;
use recorder::Recorder;
use replay::recorded::Recorded;
use replay::trace::Trace;
use words::voice::Voice;

/// One wake-up and the known facts about it.
#[derive(Debug, Clone, Copy)]
pub struct SpikeInput<'a> {
    pub spike: &'a Spike,
    /// A trace.dat, or a flight record of virtual time; may be cut short or garbage. If it is not in memory, only the
    /// parts that the account needs are read.
    pub trace: Source<'a>,
    /// Median latency of the spike's CPU over the run, in ns.
    pub median_ns: i64,
    /// Interval of the measuring thread, in ns.
    pub interval_ns: u64,
    /// (CPU, thread id) of all measuring threads.
    pub measuring_tids: &'a [(u32, i32)],
    /// The kernel priority of the measuring thread at its start, if known: below 100 is real-time.
    pub own_prio: Option<i32>,
    /// Thread ids of the rest of the tool.
    pub tool_tids: &'a [i32],
    pub environment: Option<&'a Environment>,
    /// Times at which the host of a virtual machine did not execute its CPUs, as observed by the host.
    pub absences: &'a [Absence],
    /// Whether one thread executes all CPUs of the machine in turn.
    pub in_turns: bool,
    /// Start of a sample of this run, except for watched threads.
    pub stimulus: Stimulus,
    /// The word for a sample of this run.
    pub sample: SampleWord,
    pub recorder: Recorder,
    /// Samples of the stack of a watched thread.
    pub stacks: Option<&'a NamedStacks>,
    /// Explanations of ordinary wake-ups of the same run.
    pub controls: &'a [Explanation],
}

/// Accounts for a wake-up. The phases sum to the latency to the nanosecond, for any contents of the trace.
pub fn explain_spike(input: &SpikeInput) -> Explanation {
    let Some(window) = Window::of(input.spike, input.interval_ns) else {
        let mut explanation = explain_without_trace(input.spike, input.median_ns);
        explanation.caveats.push(Caveat::new(Limit::SampleInvalid));
        return explanation;
    };
    let recorded = Recorded::new(input.trace, window);
    if !recorded.has_records() {
        let mut explanation = explain_without_trace(input.spike, input.median_ns);
        explanation.caveats.extend(recorded.trace(input, window).limits.into_iter().map(Caveat::new));
        return explanation;
    }
    let trace = recorded.trace(input, window);
    explain_trace(input, &trace)
}

/// The account of a spike without a recording.
pub fn explain_without_trace(spike: &Spike, median_ns: i64) -> Explanation {
    let latency_ns = spike.sample.latency_ns;
    let owner = Owner { kind: OwnerKind::Untraced, name: "no data".into(), ns: latency_ns };
    Explanation {
        spike: spike.number,
        latency_ns,
        median_ns,
        status: ExplanationStatus::NoTrace,
        phases: vec![Phase { name: PhaseName::Untraced, ns: latency_ns, owners: vec![owner] }],
        findings: Vec::new(),
        spans: vec![PhaseSpan { name: PhaseName::Untraced, start_ns: 0, end_ns: latency_ns }],
        lanes: Vec::new(),
        marks: Vec::new(),
        elsewhere_facts: Vec::new(),
        elsewhere: Vec::new(),
        functions: None,
        own_code: None,
        recording: None,
        caveats: spike.snapshot_missing.iter().map(|why| Caveat::new(Limit::NoSnapshot(why.clone()))).collect(),
    }
}

/// The events of the window as lines, with the phases and the ledger's stretches between them; times are relative to
/// due. Empty if there is no trace.
pub fn evidence_window(input: &SpikeInput) -> Vec<String> {
    let Some(window) = Window::of(input.spike, input.interval_ns) else { return Vec::new() };
    let recorded = Recorded::new(input.trace, window);
    let trace = recorded.trace(input, window);
    if !recorded.has_records() {
        return Vec::new();
    }
    let account = Account::of(input, &trace);
    event_list::lines(&trace, &account.pieces, &account.tool_threads)
}

fn explain_trace(input: &SpikeInput, trace: &Trace) -> Explanation {
    let Account { anchors, tool_threads, life, spans, thread_states, absences, absences_refused, steal_clock, pieces } =
        Account::of(input, trace);
    let mut case = Case {
        input,
        trace,
        tool_threads: &tool_threads,
        anchors: &anchors,
        life: &life,
        thread_states: &thread_states,
        pieces: &pieces,
        absences: &absences,
        steal_clock: &steal_clock,
        wake_interrupt: WakeInterrupt::find(trace, &anchors),
        longest: functions::Longest::new(trace, input.spike.sample.cpu),
        taken: vec![false; pieces.len()],
    };
    let verdict = verdict::reach(&mut case);
    let refused = (absences_refused > 0).then_some(Limit::AbsencesContradicted(absences_refused));
    let limits = trace.limits.iter().chain(&refused).chain(&verdict.limit);
    let caveats = limits.cloned().map(Caveat::new).collect();
    let mut explanation = Explanation {
        spike: input.spike.number,
        latency_ns: input.spike.sample.latency_ns,
        median_ns: input.median_ns,
        status: verdict.status,
        phases: ledger::phases(&pieces, &tool_threads, &trace.names),
        findings: verdict.findings,
        spans: lanes::phase_spans(&spans, trace.window.due_ns),
        lanes: lanes::lanes(trace, &pieces, &tool_threads),
        marks: key_events::marks(trace, &anchors, &tool_threads),
        elsewhere_facts: other_cpus::facts(trace, &anchors, input.spike.sample.cpu, &tool_threads),
        elsewhere: Vec::new(),
        functions: functions::account(&case),
        own_code: None,
        recording: None,
        caveats,
    };
    explanation.own_code = own_code::own_code(input, &explanation.phases);
    blame_code(&mut explanation);
    let watched = input.spike.watched;
    words::explanation::fill_in(&mut explanation, Voice { watched, sample: input.sample });
    explanation
}

/// Adds the function that took the additional time to the findings about what the thread did itself, and the place where it slept
/// longest to the one about that sleep.
fn blame_code(explanation: &mut Explanation) {
    let longest = explanation.own_code.as_ref().and_then(|code| code.waits.first());
    let of_a_sleep = |finding: &&mut Finding| {
        matches!(
            finding.culprit,
            Culprit::Waiting | Culprit::PriorityInversion | Culprit::Storage | Culprit::LateArm | Culprit::BoostedTask
        )
    };
    // Of several findings the largest one is about the longest sleep, if it took about as long.
    let largest = explanation.findings.iter_mut().filter(of_a_sleep).max_by_key(|finding| finding.ns);
    if let Some((longest, finding)) = longest.zip(largest)
        && longest.ns.saturating_mul(2) >= finding.ns
        && finding.ns.saturating_mul(2) >= longest.ns
    {
        finding.evidence_facts.push(Evidence::LongestWait(longest.clone()));
    }
    let Some(slow) = explanation.own_code.as_ref().and_then(|code| code.slow.as_ref()) else { return };
    let of_the_thread = |finding: &&mut Finding| {
        matches!(finding.culprit, Culprit::OwnWork | Culprit::LateArm | Culprit::PageFault | Culprit::SlowReturn)
    };
    for finding in explanation.findings.iter_mut().filter(of_the_thread) {
        finding.evidence_facts.push(Evidence::SlowCode(slow.clone()));
    }
}

/// The confidence of a finding in one word.
pub fn confidence_word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Hint => "hint",
        Confidence::Likely => "likely",
        Confidence::Certain => "certain",
    }
}
