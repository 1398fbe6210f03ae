//! Snapshot and late sample in, ledger and culprit out.
//!
//! The way of the data: `window` says which stretch matters, `snapshot` and `decode` turn trace bytes into typed events,
//! `timeline` replays each CPU into who held it when, `anchors` and `span` cut the wake-up into phases, `ledger` gives
//! every nanosecond to one phase and one owner, `silence` finds the stretches that are nobody's, `culprits` recognise
//! what they see in the ledger, and `verdict` decides whether that suffices.
//!
//! Nothing here does I/O or reads a clock, and no input makes it fail.

#![deny(clippy::disallowed_methods)]

mod anchors;
mod case;
mod course;
pub mod culprits;
mod decode;
mod elsewhere;
mod event;
mod event_line;
mod evidence;
mod faults;
pub mod flight;
mod functions;
mod holder;
mod ledger;
mod marks;
mod names;
mod opened;
mod ordinary;
mod outside;
mod picture;
mod priority;
pub mod recording;
pub mod run_analysis;
mod scene;
pub mod scheduling_bound;
mod silence;
mod snapshot;
mod span;
mod stretch;
mod timeline;
mod turns;
mod verdict;
mod watched;
mod window;

use anchors::Anchors;
use archive::absence::Absence;
use archive::environment::{Environment, VIRTUAL_TIME};
use archive::explanation::{Confidence, Explanation, ExplanationStatus, Owner, OwnerKind, Phase, PhaseName, PhaseSpan};
use archive::spike::Spike;
use case::{Case, WakeInterrupt};
use holder::Household;
use opened::Opened;
use scene::Scene;
use span::Circumstances;
pub use stretch::{Stretch, stretches};
use window::Window;

/// One wake-up and what is known about it.
#[derive(Debug, Clone, Copy)]
pub struct SpikeInput<'a> {
    pub spike: &'a Spike,
    /// Bytes of a trace.dat, or of a flight record of virtual time; may be cut short or garbage.
    pub trace: &'a [u8],
    /// Median latency of the spike's CPU over the run, in ns.
    pub median_ns: i64,
    /// Interval of the measuring thread, in ns.
    pub interval_ns: u64,
    /// (CPU, thread id) of all measuring threads.
    pub measuring_tids: &'a [(u32, i32)],
    /// Thread ids of the rest of the tool.
    pub tool_tids: &'a [i32],
    pub environment: Option<&'a Environment>,
    /// When the host of a virtual machine did not execute its CPUs, as the host saw it.
    pub absences: &'a [Absence],
    /// Whether one thread executes all CPUs of the machine in turn.
    pub in_turns: bool,
    /// Explanations of ordinary wake-ups of the same run.
    pub controls: &'a [Explanation],
}

/// Accounts for a wake-up. The phases sum to the latency to the nanosecond, whatever the trace holds.
pub fn explain_spike(input: &SpikeInput) -> Explanation {
    let Some(window) = Window::of(input.spike, input.interval_ns) else {
        let mut explanation = explain_without_trace(input.spike, input.median_ns);
        explanation.caveats.push("the sample makes no sense: the clock was stepped or the record is damaged".into());
        return explanation;
    };
    let opened = Opened::new(input.trace, window);
    if !opened.has_records() {
        let mut explanation = explain_without_trace(input.spike, input.median_ns);
        explanation.caveats.extend(opened.scene(input.spike, window).caveats);
        return explanation;
    }
    let scene = opened.scene(input.spike, window);
    explain_scene(input, &scene)
}

/// The account of a spike nothing was recorded around.
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
        elsewhere: Vec::new(),
        functions: None,
        recording: None,
        caveats: spike.snapshot_missing.iter().map(|why| format!("no snapshot: {why}")).collect(),
    }
}

/// The events of the window as lines, with the phases and the ledger's stretches between them; times are relative to
/// due. Empty when there is no trace.
pub fn evidence_window(input: &SpikeInput) -> Vec<String> {
    let Some(window) = Window::of(input.spike, input.interval_ns) else { return Vec::new() };
    let opened = Opened::new(input.trace, window);
    let scene = opened.scene(input.spike, window);
    if !opened.has_records() {
        return Vec::new();
    }
    let understood = Understood::of(input, &scene);
    evidence::lines(&scene, &understood.pieces, &understood.household)
}

/// The parts every view of a scene starts from.
struct Understood {
    anchors: Anchors,
    household: Household,
    spans: Vec<span::Span>,
    /// What a watched thread did where the account is about its work; empty otherwise.
    course: Vec<course::Leg>,
    /// When the host did not execute the machine, and how often it says so where the trace does not agree.
    absences: Vec<outside::Placed>,
    absences_refused: usize,
    pieces: Vec<ledger::Piece>,
}

impl Understood {
    fn of(input: &SpikeInput, scene: &Scene) -> Self {
        let own_tid = input.spike.tid;
        let siblings = input.measuring_tids.iter().map(|&(_, tid)| tid).filter(|&tid| tid != own_tid);
        let household = Household {
            own_tid,
            own_prio: scene.names.prio(own_tid),
            tool_tids: input.tool_tids.iter().copied().chain(siblings).collect(),
        };
        let anchors = Anchors::find(scene, own_tid);
        let cpu = input.spike.sample.cpu;
        let first = scene.cpu(cpu).and_then(|story| story.intervals.first());
        let circumstances = Circumstances {
            cpu,
            covered_from_ns: first.map(|first| first.start_ns),
            previous_seen_ns: input.spike.previous_seen_ns,
        };
        let virtualisation = input.environment.and_then(|environment| environment.virtualisation.as_deref());
        let in_virtual_time = scene.outside || virtualisation == Some(VIRTUAL_TIME);
        let (spans, course) = match input.spike.watched {
            None => (span::cut(&anchors, scene.window, circumstances), Vec::new()),
            Some(kind) => {
                let faults_apart_ns = faults::apart_ns(virtualisation);
                watched::cut(kind, &anchors, scene, circumstances, own_tid, faults_apart_ns)
            }
        };
        let pieces = ledger::pieces(&spans, scene);
        // In virtual time the guest's clock stands still while nobody executes it.
        let (mut absences, absences_refused) = match in_virtual_time {
            true => (Vec::new(), 0),
            false => outside::place(input.absences, scene),
        };
        if input.in_turns && !in_virtual_time {
            let mut cpus: Vec<u32> = pieces.iter().map(|piece| piece.cpu).collect();
            cpus.sort_unstable();
            cpus.dedup();
            absences.extend(cpus.into_iter().flat_map(|cpu| turns::of_others(cpu, scene)));
            absences.sort_by_key(|one| (one.start_ns, one.end_ns));
        }
        let pieces = match in_virtual_time {
            true => pieces,
            false => silence::attribute(outside::attribute(pieces, &absences), scene),
        };
        Self { anchors, household, spans, course, absences, absences_refused, pieces }
    }
}

fn explain_scene(input: &SpikeInput, scene: &Scene) -> Explanation {
    let Understood { anchors, household, spans, course, absences, absences_refused, pieces } =
        Understood::of(input, scene);
    let mut case = Case {
        input,
        scene,
        household: &household,
        anchors: &anchors,
        course: &course,
        pieces: &pieces,
        absences: &absences,
        wake_interrupt: WakeInterrupt::find(scene, &anchors),
        masked: functions::LongestMasked::default(),
        taken: vec![false; pieces.len()],
    };
    let verdict = verdict::reach(&mut case);
    let mut caveats = scene.caveats.clone();
    caveats.extend(outside::caveat(absences_refused));
    caveats.extend(verdict.caveats);
    Explanation {
        spike: input.spike.number,
        latency_ns: input.spike.sample.latency_ns,
        median_ns: input.median_ns,
        status: verdict.status,
        phases: ledger::phases(&pieces, &household, &scene.names),
        findings: verdict.findings,
        spans: picture::phase_spans(&spans, scene.window.due_ns),
        lanes: picture::lanes(scene, &pieces, &household),
        marks: marks::marks(scene, &anchors, &household),
        elsewhere: elsewhere::sentences(scene, &anchors, input.spike.sample.cpu, &household),
        functions: functions::account(&case),
        recording: None,
        caveats,
    }
}

/// How sure a finding is, in a word.
pub fn confidence_word(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::Hint => "hint",
        Confidence::Likely => "likely",
        Confidence::Certain => "certain",
    }
}
