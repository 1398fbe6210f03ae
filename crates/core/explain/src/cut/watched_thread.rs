//! Cuts the samples of watched threads into phases: their wake-ups as the kernel sees them, and their cycles.

use crate::cut::anchors::{Anchor, Anchors};
use crate::cut::phases::{self, SampleFacts, Span};
use crate::cut::thread_states::{StateSpan, ThreadState, thread_states};
use crate::read::event::EventKind;
use crate::read::window::Window;
use crate::replay::thread_life::LifeSpan;
use crate::replay::trace::Trace;
use archive::explanation::PhaseName;
use archive::watched::WatchedKind;

/// The spans of a sample, and the states of the thread for the parts that are its work.
pub fn cut(
    kind: WatchedKind,
    life: &[LifeSpan],
    anchors: &Anchors,
    trace: &Trace,
    facts: SampleFacts,
    tid: i32,
    faults_apart_ns: i64,
) -> (Vec<Span>, Vec<StateSpan>) {
    match kind {
        WatchedKind::Timer => timer(life, anchors, trace, facts, tid, faults_apart_ns),
        WatchedKind::Woken => (woken(life, anchors, trace.window, facts), Vec::new()),
        WatchedKind::Cycle => work(trace, facts, tid, faults_apart_ns),
    }
}

/// Activity of a thread that had no reason to wait.
pub fn work(trace: &Trace, facts: SampleFacts, tid: i32, faults_apart_ns: i64) -> (Vec<Span>, Vec<StateSpan>) {
    let Window { due_ns, seen_ns, .. } = trace.window;
    let states = thread_states(trace, tid, due_ns, seen_ns, facts.cpu, faults_apart_ns);
    (states.iter().map(|span| of_work(span, None)).collect(), states)
}

fn of_work(span: &StateSpan, phase: Option<PhaseName>) -> Span {
    let own = match span.state {
        ThreadState::Running | ThreadState::Faulting => PhaseName::Working,
        ThreadState::Ready => PhaseName::Preempted,
        ThreadState::Waiting { .. } | ThreadState::Fetching => PhaseName::Waiting,
    };
    Span { phase: phase.unwrap_or(own), start_ns: span.start_ns, end_ns: span.end_ns, cpu: span.cpu }
}

/// As for any wake-up; the states of the thread show its activity until it set its timer too late, and slack is cut
/// off.
fn timer(
    life: &[LifeSpan],
    anchors: &Anchors,
    trace: &Trace,
    facts: SampleFacts,
    tid: i32,
    faults_apart_ns: i64,
) -> (Vec<Span>, Vec<StateSpan>) {
    let mut spans = Vec::new();
    let mut states = Vec::new();
    let slack_until_ns = trace.arm().and_then(|arm| match arm.what {
        EventKind::HrtimerStart { expires_ns, soft_expires_ns, .. } if soft_expires_ns == trace.window.due_ns => {
            Some(expires_ns)
        }
        _ => None,
    });
    let mut late = None;
    for whole in phases::cut(anchors, trace.window, facts, life) {
        match (whole.phase, slack_until_ns) {
            (PhaseName::LateArm, _) => {
                let (start_ns, _, cpu) = late.unwrap_or((whole.start_ns, whole.end_ns, whole.cpu));
                late = Some((start_ns, whole.end_ns, cpu));
            }
            (PhaseName::TimerDelay, Some(until_ns)) if whole.start_ns < until_ns && until_ns < whole.end_ns => {
                spans.push(Span { end_ns: until_ns, ..whole });
                spans.push(Span { start_ns: until_ns, ..whole });
            }
            _ => spans.push(whole),
        }
    }
    if let Some((start_ns, end_ns, cpu)) = late {
        states = thread_states(trace, tid, start_ns, end_ns, cpu, faults_apart_ns);
        spans.splice(0..0, states.iter().map(|span| of_work(span, Some(PhaseName::LateArm))));
    }
    (spans, states)
}

/// From the wake-up on, the only phases are those of getting the CPU.
fn woken(life: &[LifeSpan], anchors: &Anchors, window: Window, facts: SampleFacts) -> Vec<Span> {
    let at = |anchor: Option<Anchor>, default: (i64, u32)| anchor.map_or(default, |anchor| (anchor.ts_ns, anchor.cpu));
    let (woken_ns, cpu) = at(anchors.woken, (window.due_ns, facts.cpu));
    let woken_ns = woken_ns.clamp(window.due_ns, window.seen_ns);
    let path = Span { phase: PhaseName::WakePath, start_ns: window.due_ns, end_ns: woken_ns, cpu };
    let delay = phases::by_life(PhaseName::SchedulingDelay, life, (woken_ns, window.seen_ns), facts.cpu);
    [path].into_iter().chain(delay).filter(|span| span.start_ns < span.end_ns).collect()
}
