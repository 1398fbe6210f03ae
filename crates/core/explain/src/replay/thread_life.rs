//! The life of one thread according to the scheduler's events: when it ran, was runnable, slept or was stopped, on
//! which CPU, and which events began and ended each state.

use crate::read::event::{Event, EventKind, state};

/// State of a thread as known to the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeState {
    Running,
    /// Runnable, but another thread has the CPU.
    Runnable,
    /// It waits to be woken; `blocked`: signals do not wake it.
    Asleep {
        blocked: bool,
    },
    /// Stopped by a signal.
    Stopped,
    /// Stopped by a debugger.
    Traced,
}

impl LifeState {
    /// The thread's state after a switch away from it, from `prev_state`.
    fn left_in(prev_state: i64) -> Self {
        match prev_state & 0xff {
            0 => Self::Runnable,
            bits if bits & state::TRACED != 0 => Self::Traced,
            bits if bits & state::STOPPED != 0 => Self::Stopped,
            bits => Self::Asleep { blocked: bits & state::BLOCKED != 0 },
        }
    }

    pub fn is_stopped(self) -> bool {
        matches!(self, Self::Stopped | Self::Traced)
    }
}

/// A stretch in one state, on the CPU where the thread is or was last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LifeSpan<'a> {
    pub start_ns: i64,
    pub end_ns: i64,
    pub cpu: u32,
    pub state: LifeState,
    /// The event that began it; `None`: before the record.
    pub began: Option<Event<'a>>,
    /// The event that ended it; `None`: after the record.
    pub ended: Option<Event<'a>>,
}

impl LifeSpan<'_> {
    pub fn contains(&self, at_ns: i64) -> bool {
        (self.start_ns..self.end_ns).contains(&at_ns)
    }
}

/// The states of thread `tid` from one instant to another: ascending, without gap or overlap. `events` are in order of
/// time; `cpu` is its CPU if none of them shows it.
pub fn life<'a>(events: &[Event<'a>], tid: i32, start_ns: i64, end_ns: i64, cpu: u32) -> Vec<LifeSpan<'a>> {
    let mut replay =
        LifeReplay { tid, end_ns, cursor_ns: start_ns, now: None, began: None, left: None, spans: Vec::new() };
    for event in events.iter().take_while(|event| event.ts_ns <= end_ns) {
        replay.feed(event, cpu);
    }
    let (state, at) = replay.now.unwrap_or((LifeState::Running, cpu));
    replay.push(end_ns, state, at, None);
    replay.spans
}

struct LifeReplay<'a> {
    tid: i32,
    end_ns: i64,
    cursor_ns: i64,
    now: Option<(LifeState, u32)>,
    began: Option<Event<'a>>,
    /// The CPU that it was switched out of, until another task is seen there: the switch itself is recorded under the
    /// old thread.
    left: Option<u32>,
    spans: Vec<LifeSpan<'a>>,
}

impl<'a> LifeReplay<'a> {
    fn push(&mut self, until_ns: i64, state: LifeState, cpu: u32, ended: Option<Event<'a>>) {
        let until_ns = until_ns.clamp(self.cursor_ns, self.end_ns);
        if until_ns > self.cursor_ns {
            let (start_ns, end_ns, began) = (self.cursor_ns, until_ns, self.began);
            self.spans.push(LifeSpan { start_ns, end_ns, cpu, state, began, ended });
            self.cursor_ns = until_ns;
        }
    }

    fn feed(&mut self, event: &Event<'a>, cpu: u32) {
        use LifeState::{Asleep, Runnable, Running};
        let tid = self.tid;
        if self.left == Some(event.cpu) && event.tid != tid {
            self.left = None;
        }
        let here = self.now.map_or(cpu, |(_, cpu)| cpu);
        // Its earlier state, as far as this event proves it, and its state from here on.
        let (before, after, place) = match event.what {
            EventKind::Switch { prev, prev_state, .. } if prev == tid => {
                self.left = Some(event.cpu);
                (Running, LifeState::left_in(prev_state), event.cpu)
            }
            EventKind::Switch { next, .. } if next == tid => (Runnable, Running, event.cpu),
            EventKind::Waking { tid: woken, .. } | EventKind::Wakeup { tid: woken, .. } if woken == tid => {
                match self.now {
                    // It had not fallen asleep yet, or is already awake.
                    Some((Running | Runnable, _)) => return,
                    _ => (Asleep { blocked: false }, Runnable, here),
                }
            }
            EventKind::Migrate { tid: moved, to_cpu, .. } if moved == tid => {
                let (Some((state, _)), Ok(to_cpu)) = (self.now, u32::try_from(to_cpu)) else { return };
                if state == Running {
                    return;
                }
                (state, state, to_cpu)
            }
            // It acts, so it has the CPU, and a switch to it was not recorded.
            _ if event.tid == tid && self.left != Some(event.cpu) && is_its_doing(event) => match self.now {
                Some((Running, at)) if at == event.cpu => return,
                Some((before, _)) => (before, Running, event.cpu),
                None => (Running, Running, event.cpu),
            },
            _ => return,
        };
        let (state, at) = self.now.unwrap_or((before, place));
        self.push(event.ts_ns, state, at, Some(*event));
        self.began = Some(*event);
        self.now = Some((after, place));
    }
}

/// Whether an event with the thread's number is its own: functions of a switch have the number of the previous thread.
fn is_its_doing(event: &Event) -> bool {
    !event.is_function() && event.what != EventKind::Stack
}
