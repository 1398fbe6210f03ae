//! What a watched thread did between two instants: ran, served page faults, was kept off the CPU, or waited, and for
//! whom.
//!
//! While it waits for another thread its way leads over the CPU of that thread: who holds that one holds up both.

use crate::event::{Event, What, flag};
use crate::faults::Faults;
use crate::scene::Scene;

/// A thread that falls asleep so soon after a page fault sleeps in it.
const FAULT_SLEEP_NS: i64 = 200_000;
const STATE_BLOCKED: i64 = 0x02;

/// What a thread is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    Running,
    /// One page fault after the other.
    Faulting,
    /// Asleep in a page fault until a device has brought the page.
    Fetching,
    /// It could run and does not.
    Ready,
    /// It sleeps until somebody wakes it; `None`: an interrupt, or nobody in the trace.
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

/// A stretch of a thread's course, on the CPU that decides how long it takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    pub start_ns: i64,
    pub end_ns: i64,
    pub cpu: u32,
    pub doing: Doing,
}

/// The course of thread `tid` from one instant to another: ascending, without gap or overlap.
pub fn course(scene: &Scene, tid: i32, start_ns: i64, end_ns: i64, cpu: u32, faults_apart_ns: i64) -> Vec<Leg> {
    let events = scene.events_by_time();
    let faulting = Faults::find(&events, tid, faults_apart_ns).runs();
    let mut legs = Vec::new();
    for leg in life(&events, tid, start_ns, end_ns, cpu) {
        match leg.doing {
            Doing::Running => split_at_faults(&faulting, leg, &mut legs),
            Doing::Waiting { .. } => split_by_awaited(&events, tid, leg, &mut legs),
            _ => legs.push(leg),
        }
    }
    legs
}

/// Running, ready or waiting, as switches and wake-ups tell.
fn life(events: &[Event], tid: i32, start_ns: i64, end_ns: i64, cpu: u32) -> Vec<Leg> {
    let mut legs: Vec<Leg> = Vec::new();
    let mut now: Option<(Doing, u32)> = None;
    let mut cursor_ns = start_ns;
    let mut last_fault_ns = i64::MIN;
    // The CPU it was switched away from, until somebody else is seen there: the switch itself goes by the old name.
    let mut left: Option<u32> = None;
    let waiting = Doing::Waiting { awaited: None };
    let mut push = |until_ns: i64, doing: Doing, cpu: u32, cursor_ns: &mut i64| {
        let until_ns = until_ns.clamp(*cursor_ns, end_ns);
        if until_ns > *cursor_ns {
            legs.push(Leg { start_ns: *cursor_ns, end_ns: until_ns, cpu, doing });
            *cursor_ns = until_ns;
        }
    };
    for event in events.iter().take_while(|event| event.ts_ns <= end_ns) {
        if left == Some(event.cpu) && event.tid != tid {
            left = None;
        }
        if event.tid == tid && matches!(event.what, What::PageFault { .. }) {
            last_fault_ns = event.ts_ns;
        }
        // What it was about before, as far as this event proves it, and what it is about from here on.
        let (before, after, place) = match event.what {
            What::Switch { prev, prev_state, .. } if prev == tid => {
                let blocked = prev_state & STATE_BLOCKED != 0;
                let next = match prev_state & 0xff {
                    0 => Doing::Ready,
                    _ if blocked && event.ts_ns.saturating_sub(last_fault_ns) <= FAULT_SLEEP_NS => Doing::Fetching,
                    _ => waiting,
                };
                left = Some(event.cpu);
                (Doing::Running, next, event.cpu)
            }
            What::Switch { next, .. } if next == tid => (Doing::Ready, Doing::Running, event.cpu),
            What::Waking { tid: woken, .. } | What::Wakeup { tid: woken, .. } if woken == tid => {
                let place = now.map_or(cpu, |(_, cpu)| cpu);
                match now {
                    // It had not gone to sleep yet, or is awake already.
                    Some((Doing::Running | Doing::Ready, _)) => continue,
                    _ => (waiting, Doing::Ready, place),
                }
            }
            // It does something, so it has the CPU, and a switch to it was not recorded.
            _ if event.tid == tid && left != Some(event.cpu) && is_its_doing(event) => match now {
                Some((Doing::Running, _)) => continue,
                Some((before, _)) => (before, Doing::Running, event.cpu),
                None => (Doing::Running, Doing::Running, event.cpu),
            },
            _ => continue,
        };
        let (doing, at) = now.unwrap_or((before, place));
        push(event.ts_ns, doing, at, &mut cursor_ns);
        now = Some((after, place));
    }
    let (doing, at) = now.unwrap_or((Doing::Running, cpu));
    push(end_ns, doing, at, &mut cursor_ns);
    legs
}

/// Whether an event with the thread's number is one of its own: functions of a switch go by the number of the one before.
fn is_its_doing(event: &Event) -> bool {
    !event.is_function() && event.what != What::Stack
}

/// Cuts runs of page faults, ascending, out of a stretch in which the thread ran.
fn split_at_faults(faulting: &[(i64, i64)], leg: Leg, legs: &mut Vec<Leg>) {
    let mut cursor_ns = leg.start_ns;
    for &(first_ns, last_ns) in faulting {
        let (first_ns, last_ns) = (first_ns.max(cursor_ns), last_ns.min(leg.end_ns));
        if first_ns >= last_ns {
            continue;
        }
        if first_ns > cursor_ns {
            legs.push(Leg { start_ns: cursor_ns, end_ns: first_ns, ..leg });
        }
        legs.push(Leg { start_ns: first_ns, end_ns: last_ns, doing: Doing::Faulting, ..leg });
        cursor_ns = last_ns;
    }
    if cursor_ns < leg.end_ns {
        legs.push(Leg { start_ns: cursor_ns, ..leg });
    }
}

/// Follows the thread that ended the wait.
fn split_by_awaited(events: &[Event], tid: i32, leg: Leg, legs: &mut Vec<Leg>) {
    let woke = events.iter().find(|event| {
        event.ts_ns >= leg.end_ns && matches!(event.what, What::Waking { tid: woken, .. } if woken == tid)
    });
    let by = woke.filter(|event| event.flags & (flag::HARDIRQ | flag::SOFTIRQ | flag::NMI) == 0 && event.tid > 0);
    let Some(by) = by.filter(|event| event.ts_ns == leg.end_ns && event.tid != tid) else {
        legs.push(leg);
        return;
    };
    for theirs in life(events, by.tid, leg.start_ns, leg.end_ns, by.cpu) {
        let awaited = Some(Awaited { tid: by.tid, held_up: theirs.doing == Doing::Ready });
        let asleep = matches!(theirs.doing, Doing::Waiting { .. });
        legs.push(Leg { cpu: if asleep { leg.cpu } else { theirs.cpu }, doing: Doing::Waiting { awaited }, ..theirs });
    }
}
