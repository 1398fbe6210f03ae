//! Every nanosecond from due to seen, given to one phase and one owner; and the views of that account.

mod charges;
pub mod event_list;
pub mod interrupted_code;
pub mod key_events;
pub mod lanes;
pub mod ledger;
pub mod other_cpus;
pub mod own_code;
pub mod round_robin;
mod silences;
mod stack_recording;
pub mod stalls;
pub mod steal_clock;
pub mod steal_count;
mod stolen_time;
pub mod stretches;
pub mod vcpu_absences;

use crate::SpikeInput;
use crate::cut::anchors::Anchors;
use crate::cut::phases::{self, SampleFacts, Span};
use crate::cut::thread_states::StateSpan;
use crate::cut::watched_thread;
use crate::replay::context::ToolThreads;
use crate::replay::page_faults;
use crate::replay::thread_life::LifeSpan;
use crate::replay::trace::Trace;
use archive::environment::VIRTUAL_TIME;
use archive::method::Stimulus;
use ledger::Piece;
use steal_clock::StealClock;
use stolen_time::Accounting;
use vcpu_absences::PlacedAbsence;

/// The parts every view of a trace starts from.
pub struct Account<'a> {
    pub anchors: Anchors,
    pub tool_threads: ToolThreads,
    /// The states of the thread, before due included.
    pub life: Vec<LifeSpan<'a>>,
    pub spans: Vec<Span>,
    /// States of a watched or busy thread where the account is about its work; empty otherwise.
    pub thread_states: Vec<StateSpan>,
    /// When the host did not execute the machine, and how often it says so where the trace does not agree.
    pub absences: Vec<PlacedAbsence>,
    pub absences_refused: usize,
    pub steal_clock: StealClock,
    pub pieces: Vec<Piece>,
}

impl<'a> Account<'a> {
    pub fn of(input: &SpikeInput, trace: &Trace<'a>) -> Self {
        let own_tid = input.spike.tid;
        let siblings = input.measuring_tids.iter().map(|&(_, tid)| tid).filter(|&tid| tid != own_tid);
        let tool_threads = ToolThreads {
            own_tid,
            own_prio: trace.names.prio(own_tid),
            tool_tids: input.tool_tids.iter().copied().chain(siblings).collect(),
        };
        let mut anchors = Anchors::find(trace, own_tid);
        let cpu = input.spike.sample.cpu;
        let life = trace.own_life(own_tid, cpu);
        anchors.replenished(&life);
        anchors.without_a_switch(trace, &life, own_tid);
        let first = trace.cpu(cpu).and_then(|activity| activity.intervals.first());
        let facts = SampleFacts {
            cpu,
            covered_from_ns: first.map(|first| first.start_ns),
            previous_seen_ns: input.spike.previous_seen_ns,
        };
        let virtualisation = input.environment.and_then(|environment| environment.virtualisation.as_deref());
        let in_virtual_time = trace.outside || virtualisation == Some(VIRTUAL_TIME);
        let faults_apart_ns = page_faults::apart_ns(virtualisation);
        let (spans, thread_states) = match (input.spike.watched, input.stimulus) {
            (Some(kind), _) => watched_thread::cut(kind, &life, &anchors, trace, facts, own_tid, faults_apart_ns),
            // An interrupt may be that of a timer, which the kernel emulates a device with.
            (None, Stimulus::Device) if anchors.expired.is_none() => {
                (phases::cut_from_stimulus(&anchors, trace.window, facts, &life), Vec::new())
            }
            (None, Stimulus::Timer | Stimulus::Device) => {
                (phases::cut(&anchors, trace.window, facts, &life), Vec::new())
            }
            (None, Stimulus::Thread) => (phases::cut_from_stimulus(&anchors, trace.window, facts, &life), Vec::new()),
            (None, Stimulus::Busy | Stimulus::OwnCall | Stimulus::Unknown) => {
                watched_thread::work(trace, facts, own_tid, faults_apart_ns)
            }
        };
        let pieces = ledger::pieces(&spans, trace);
        // In virtual time the guest's clock stands still while nobody executes it.
        let (mut absences, absences_refused) = match in_virtual_time {
            true => (Vec::new(), 0),
            false => vcpu_absences::place(input.absences, trace),
        };
        if input.in_turns && !in_virtual_time {
            let mut cpus: Vec<u32> = pieces.iter().map(|piece| piece.cpu).collect();
            cpus.sort_unstable();
            cpus.dedup();
            absences.extend(cpus.into_iter().flat_map(|cpu| round_robin::of_others(cpu, trace)));
            absences.sort_by_key(|one| (one.start_ns, one.end_ns));
        }
        let steal_clock = match in_virtual_time {
            true => StealClock::default(),
            false => StealClock::read(trace, Accounting::of(input.environment)),
        };
        // What the host itself saw comes first.
        let unseen = |one: &&PlacedAbsence| {
            !absences.iter().any(|seen| seen.cpu == one.cpu && seen.start_ns < one.end_ns && one.start_ns < seen.end_ns)
        };
        let unseen: Vec<PlacedAbsence> = steal_clock.absences.iter().filter(unseen).copied().collect();
        absences.extend(unseen);
        absences.sort_by_key(|one| (one.start_ns, one.end_ns));
        let pieces = match in_virtual_time {
            true => pieces,
            false => stalls::attribute(vcpu_absences::attribute(pieces, &absences), trace, own_tid),
        };
        let pieces = stack_recording::attribute(pieces, trace);
        Self { anchors, tool_threads, life, spans, thread_states, absences, absences_refused, steal_clock, pieces }
    }
}
