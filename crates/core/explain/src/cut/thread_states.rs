//! States of a watched thread between two instants: ran, handled page faults, was kept off the CPU, or waited, and for
//! whom.
//!
//! While it waits for another thread, the CPU of that thread matters: a context that holds it delays both. If that
//! thread waits as well, the search continues with the thread that ended its wait, up to the end of the chain.

use crate::read::event::{Event, EventKind, flag};
use crate::replay::page_faults::Faults;
use crate::replay::thread_life::{LifeSpan, LifeState, life};
use crate::replay::timeline::inferred::Inference;
use crate::replay::trace::Trace;
use std::collections::HashMap;

/// A thread that falls asleep this soon after a page fault sleeps in it.
const FAULT_SLEEP_NS: i64 = 200_000;
/// Longer chains of threads waiting for each other are cut.
const HOPS_MAX: u8 = 16;
/// A softirq that begins this soon after the end of an interrupt runs on its exit path, not on behalf of a thread.
const INTERRUPT_EXIT_NS: i64 = 20_000;

/// State of a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadState {
    Running,
    /// Handling one page fault after the other.
    Faulting,
    /// Asleep in a page fault until a device has brought the page.
    Fetching,
    /// Runnable, but not running.
    Ready,
    /// It sleeps until a task wakes it; `None`: an interrupt, or a waker that is not in the trace.
    Waiting {
        awaited: Option<Awaited>,
    },
}

/// The thread at the end of a chain of waiting threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    pub tid: i32,
    /// The thread that ended the wait of the first: `tid` itself, or a thread that waited for it.
    pub woke: i32,
    /// Threads of the chain, without the first one.
    pub hops: u8,
    pub progress: Progress,
}

/// Activity of the awaited thread meanwhile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    Ran,
    /// It was runnable in this stretch, and did not run.
    HeldUp,
    /// It slept, and no thread of the trace ended that: a device or a timer did.
    Slept,
}

/// A stretch in one state, on the CPU that determines how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StateSpan {
    pub start_ns: i64,
    pub end_ns: i64,
    pub cpu: u32,
    pub state: ThreadState,
}

/// The states of thread `tid` from one instant to another: ascending, without gap or overlap.
pub fn thread_states(
    trace: &Trace,
    tid: i32,
    start_ns: i64,
    end_ns: i64,
    cpu: u32,
    faults_apart_ns: i64,
) -> Vec<StateSpan> {
    let events = trace.events_by_time();
    let faulting = Faults::find(&events, tid, faults_apart_ns).runs();
    let mut chain =
        WaitChain { events: &events, bounds: (trace.window.start_ns, trace.window.end_ns), lives: HashMap::new() };
    let mut states = Vec::new();
    for span in life(&events, tid, start_ns, end_ns, cpu) {
        let whole = |state| StateSpan { start_ns: span.start_ns, end_ns: span.end_ns, cpu: span.cpu, state };
        match span.state {
            LifeState::Running => split_at_faults(&faulting, whole(ThreadState::Running), &mut states),
            LifeState::Runnable if had_the_cpu(trace, tid, &span) => {
                split_at_faults(&faulting, whole(ThreadState::Running), &mut states);
            }
            LifeState::Runnable => states.push(whole(ThreadState::Ready)),
            LifeState::Asleep { blocked: true } if fell_asleep_in_a_fault(&events, tid, &span) => {
                states.push(whole(ThreadState::Fetching));
            }
            LifeState::Asleep { .. } | LifeState::Stopped | LifeState::Traced => {
                let mut parts = Vec::new();
                chain.follow(tid, (span.start_ns, span.end_ns), None, 0, &mut parts);
                states.extend(parts.into_iter().map(|part| part.state_span(span.cpu)));
            }
        }
    }
    states
}

/// Whether the thread had the CPU in a stretch that ends with its next event, although no switch to it was recorded.
fn had_the_cpu(trace: &Trace, tid: i32, runnable: &LifeSpan) -> bool {
    let stretches = trace.cpu(runnable.cpu).map_or(&[][..], |activity| &activity.inferred);
    stretches.iter().any(|one| {
        let is_its_own = one.tid == tid && one.from == Inference::OwnWasSeen;
        is_its_own && one.start_ns <= runnable.start_ns && runnable.end_ns <= one.end_ns
    })
}

/// Whether a sleep began in a page fault of the thread: what the thread asks the kernel for afterwards shows that it had
/// returned from the fault.
fn fell_asleep_in_a_fault(events: &[Event], tid: i32, sleep: &LifeSpan) -> bool {
    let Some(began) = sleep.began else { return false };
    let until = events.partition_point(|event| event.ts_ns <= began.ts_ns);
    let recent = events[..until].iter().rev().take_while(|event| began.ts_ns - event.ts_ns <= FAULT_SLEEP_NS);
    let entered = |event: &&Event| {
        event.tid == tid
            && matches!(
                event.what,
                EventKind::PageFault { .. }
                    | EventKind::FileSync { .. }
                    | EventKind::HrtimerStart { .. }
                    | EventKind::Marker
            )
    };
    recent.into_iter().find(entered).is_some_and(|event| matches!(event.what, EventKind::PageFault { .. }))
}

/// Cuts runs of page faults, ascending, out of a stretch in which the thread ran.
fn split_at_faults(faulting: &[(i64, i64)], span: StateSpan, states: &mut Vec<StateSpan>) {
    let mut cursor_ns = span.start_ns;
    for &(first_ns, last_ns) in faulting {
        let (first_ns, last_ns) = (first_ns.max(cursor_ns), last_ns.min(span.end_ns));
        if first_ns >= last_ns {
            continue;
        }
        if first_ns > cursor_ns {
            states.push(StateSpan { start_ns: cursor_ns, end_ns: first_ns, ..span });
        }
        states.push(StateSpan { start_ns: first_ns, end_ns: last_ns, state: ThreadState::Faulting, ..span });
        cursor_ns = last_ns;
    }
    if cursor_ns < span.end_ns {
        states.push(StateSpan { start_ns: cursor_ns, ..span });
    }
}

/// A part of a wait and the thread that determines its length, with the CPU of that thread.
struct ChainPart {
    start_ns: i64,
    end_ns: i64,
    awaited: Option<(Awaited, u32)>,
}

impl ChainPart {
    /// `cpu`: where the first thread of the chain is.
    fn state_span(self, cpu: u32) -> StateSpan {
        StateSpan {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            cpu: self.awaited.map_or(cpu, |(_, cpu)| cpu),
            state: ThreadState::Waiting { awaited: self.awaited.map(|(awaited, _)| awaited) },
        }
    }
}

/// Follows waits from thread to thread.
struct WaitChain<'e, 'a> {
    events: &'e [Event<'a>],
    /// Of the window.
    bounds: (i64, i64),
    lives: HashMap<i32, Vec<LifeSpan<'a>>>,
}

impl<'a> WaitChain<'_, 'a> {
    /// `asleep`: the thread that sleeps from the first instant to the second, with its CPU; `None`: the first of the
    /// chain, `tid`.
    fn follow(
        &mut self,
        tid: i32,
        (start_ns, end_ns): (i64, i64),
        asleep: Option<(Awaited, u32)>,
        hops: u8,
        parts: &mut Vec<ChainPart>,
    ) {
        let woke = self.waker(tid, end_ns).filter(|_| hops < HOPS_MAX);
        let Some(by) = woke else {
            let slept = |(awaited, cpu)| (Awaited { progress: Progress::Slept, ..awaited }, cpu);
            parts.push(ChainPart { start_ns, end_ns, awaited: asleep.map(slept) });
            return;
        };
        let theirs = self.life(&by).to_vec();
        for span in theirs.iter().filter(|span| span.start_ns < end_ns && start_ns < span.end_ns) {
            let (from_ns, to_ns) = (span.start_ns.max(start_ns), span.end_ns.min(end_ns));
            let awaited = |progress| {
                let woke = asleep.map_or(by.tid, |(before, _)| before.woke);
                (Awaited { tid: by.tid, woke, hops: hops + 1, progress }, span.cpu)
            };
            let part = |progress| ChainPart { start_ns: from_ns, end_ns: to_ns, awaited: Some(awaited(progress)) };
            match span.state {
                LifeState::Running => parts.push(part(Progress::Ran)),
                LifeState::Runnable => parts.push(part(Progress::HeldUp)),
                LifeState::Asleep { .. } | LifeState::Stopped | LifeState::Traced => {
                    self.follow(by.tid, (from_ns, to_ns), Some(awaited(Progress::Slept)), hops + 1, parts);
                }
            }
        }
    }

    /// The task that woke a thread at this instant; `None`: an interrupt, or an unrecorded waker.
    fn waker(&self, tid: i32, at_ns: i64) -> Option<Event<'a>> {
        let first = self.events.partition_point(|event| event.ts_ns < at_ns);
        let now = self.events[first..].iter().take_while(|event| event.ts_ns == at_ns);
        let woke =
            now.into_iter().find(|event| matches!(event.what, EventKind::Waking { tid: woken, .. } if woken == tid))?;
        let served_for_an_interrupt = woke.flags & flag::SOFTIRQ != 0 && self.is_after_an_interrupt(woke);
        (woke.flags & (flag::HARDIRQ | flag::NMI) == 0 && !served_for_an_interrupt && woke.tid > 0 && woke.tid != tid)
            .then_some(*woke)
    }

    /// Whether the softirq that wakes a thread began on the exit path of an interrupt. A thread that sends over the
    /// loopback network runs its own softirq.
    fn is_after_an_interrupt(&self, woke: &Event) -> bool {
        let until = self.events.partition_point(|event| event.ts_ns < woke.ts_ns);
        let mut before =
            self.events[..until].iter().rev().filter(|event| event.cpu == woke.cpu && !event.is_function());
        let Some(entry) = before.by_ref().find(|event| matches!(event.what, EventKind::SoftirqEntry { .. })) else {
            return true;
        };
        // Several softirqs run one after the other.
        let left =
            before.find(|event| !matches!(event.what, EventKind::SoftirqEntry { .. } | EventKind::SoftirqExit { .. }));
        left.is_some_and(|event| {
            matches!(event.what, EventKind::VectorExit { .. } | EventKind::IrqExit { .. })
                && entry.ts_ns - event.ts_ns <= INTERRUPT_EXIT_NS
        })
    }

    /// The whole life of a thread, as far as it was recorded.
    fn life(&mut self, woke: &Event<'a>) -> &[LifeSpan<'a>] {
        let (events, (from_ns, to_ns)) = (self.events, self.bounds);
        self.lives.entry(woke.tid).or_insert_with(|| life(events, woke.tid, from_ns, to_ns, woke.cpu))
    }
}
