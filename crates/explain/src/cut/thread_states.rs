//! What a watched thread did between two instants: ran, served page faults, was kept off the CPU, or waited, and for
//! whom.
//!
//! While it waits for another thread its way leads over the CPU of that thread: who holds that one holds up both.

use crate::read::event::{Event, EventKind, flag};
use crate::replay::page_faults::Faults;
use crate::replay::trace::Trace;

/// A thread that falls asleep so soon after a page fault sleeps in it.
const FAULT_SLEEP_NS: i64 = 200_000;
const STATE_BLOCKED: i64 = 0x02;

/// What a thread is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ThreadState {
    Running,
    /// One page fault after the other.
    Faulting,
    /// Asleep in a page fault until a device has brought the page.
    Fetching,
    /// It could run and does not.
    Ready,
    /// It sleeps until a task wakes it; `None`: an interrupt, or nobody in the trace.
    Waiting {
        awaited: Option<Awaited>,
    },
}

/// The thread that ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Awaited {
    pub tid: i32,
    /// It could have run in this stretch, and did not.
    pub held_up: bool,
}

/// A stretch of what a thread does, on the CPU that decides how long it takes.
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
    let mut states = Vec::new();
    for span in life(&events, tid, start_ns, end_ns, cpu) {
        match span.state {
            ThreadState::Running => split_at_faults(&faulting, span, &mut states),
            ThreadState::Waiting { .. } => split_by_awaited(&events, tid, span, &mut states),
            _ => states.push(span),
        }
    }
    states
}

/// Running, ready or waiting, as switches and wake-ups tell.
fn life(events: &[Event], tid: i32, start_ns: i64, end_ns: i64, cpu: u32) -> Vec<StateSpan> {
    let mut states: Vec<StateSpan> = Vec::new();
    let mut now: Option<(ThreadState, u32)> = None;
    let mut cursor_ns = start_ns;
    let mut last_fault_ns = i64::MIN;
    // The CPU it was switched away from, until another task is seen there: the switch itself goes by the old name.
    let mut left: Option<u32> = None;
    let waiting = ThreadState::Waiting { awaited: None };
    let mut push = |until_ns: i64, state: ThreadState, cpu: u32, cursor_ns: &mut i64| {
        let until_ns = until_ns.clamp(*cursor_ns, end_ns);
        if until_ns > *cursor_ns {
            states.push(StateSpan { start_ns: *cursor_ns, end_ns: until_ns, cpu, state });
            *cursor_ns = until_ns;
        }
    };
    for event in events.iter().take_while(|event| event.ts_ns <= end_ns) {
        if left == Some(event.cpu) && event.tid != tid {
            left = None;
        }
        if event.tid == tid && matches!(event.what, EventKind::PageFault { .. }) {
            last_fault_ns = event.ts_ns;
        }
        // What it was about before, as far as this event proves it, and what it is about from here on.
        let (before, after, place) = match event.what {
            EventKind::Switch { prev, prev_state, .. } if prev == tid => {
                let blocked = prev_state & STATE_BLOCKED != 0;
                let next = match prev_state & 0xff {
                    0 => ThreadState::Ready,
                    _ if blocked && event.ts_ns.saturating_sub(last_fault_ns) <= FAULT_SLEEP_NS => {
                        ThreadState::Fetching
                    }
                    _ => waiting,
                };
                left = Some(event.cpu);
                (ThreadState::Running, next, event.cpu)
            }
            EventKind::Switch { next, .. } if next == tid => (ThreadState::Ready, ThreadState::Running, event.cpu),
            EventKind::Waking { tid: woken, .. } | EventKind::Wakeup { tid: woken, .. } if woken == tid => {
                let place = now.map_or(cpu, |(_, cpu)| cpu);
                match now {
                    // It had not gone to sleep yet, or is awake already.
                    Some((ThreadState::Running | ThreadState::Ready, _)) => continue,
                    _ => (waiting, ThreadState::Ready, place),
                }
            }
            // It does something, so it has the CPU, and a switch to it was not recorded.
            _ if event.tid == tid && left != Some(event.cpu) && is_its_doing(event) => match now {
                Some((ThreadState::Running, _)) => continue,
                Some((before, _)) => (before, ThreadState::Running, event.cpu),
                None => (ThreadState::Running, ThreadState::Running, event.cpu),
            },
            _ => continue,
        };
        let (state, at) = now.unwrap_or((before, place));
        push(event.ts_ns, state, at, &mut cursor_ns);
        now = Some((after, place));
    }
    let (state, at) = now.unwrap_or((ThreadState::Running, cpu));
    push(end_ns, state, at, &mut cursor_ns);
    states
}

/// Whether an event with the thread's number is one of its own: functions of a switch go by the number of the one before.
fn is_its_doing(event: &Event) -> bool {
    !event.is_function() && event.what != EventKind::Stack
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

/// Follows the thread that ended the wait.
fn split_by_awaited(events: &[Event], tid: i32, span: StateSpan, states: &mut Vec<StateSpan>) {
    let woke = events.iter().find(|event| {
        event.ts_ns >= span.end_ns && matches!(event.what, EventKind::Waking { tid: woken, .. } if woken == tid)
    });
    let by = woke.filter(|event| event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) == 0 && event.tid > 0);
    let Some(by) = by.filter(|event| event.ts_ns == span.end_ns && event.tid != tid) else {
        states.push(span);
        return;
    };
    for theirs in life(events, by.tid, span.start_ns, span.end_ns, by.cpu) {
        let awaited = Some(Awaited { tid: by.tid, held_up: theirs.state == ThreadState::Ready });
        let asleep = matches!(theirs.state, ThreadState::Waiting { .. });
        states.push(StateSpan {
            cpu: if asleep { span.cpu } else { theirs.cpu },
            state: ThreadState::Waiting { awaited },
            ..theirs
        });
    }
}
