//! States and wake-ups of a thread, in order of time.

use crate::waker::Waker;
use archive::culprit::KernelPriority;
use explain::event::state;

/// State of a thread as known to the scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    Running,
    Runnable,
    Asleep,
    /// By a signal or a debugger.
    Stopped,
    /// Events are missing.
    Unknown,
}

impl State {
    /// The state after a switch away from a thread, from `prev_state`.
    pub fn left_in(prev_state: i64) -> Self {
        match prev_state & 0xff {
            0 => Self::Runnable,
            bits if bits & (state::STOPPED | state::TRACED) != 0 => Self::Stopped,
            _ => Self::Asleep,
        }
    }
}

/// A stretch in one state. Stretches of a thread ascend and do not overlap; gaps between them are unknown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start_ns: i64,
    pub end_ns: i64,
    /// The CPU of the thread, or the one on which it was to run.
    pub cpu: u32,
    pub state: State,
    /// The priority with which it was switched in, woken or switched out.
    pub priority: Option<KernelPriority>,
    /// Index of the wake-up that ended this sleep.
    pub wake: Option<usize>,
}

/// A wake-up, whether the thread slept or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wake {
    pub ts_ns: i64,
    /// The CPU that the waker had.
    pub cpu: u32,
    pub by: Waker,
}

/// A thread through a recording.
#[derive(Debug, Default)]
pub struct Life {
    pub spans: Vec<Span>,
    /// Ascending.
    pub wakes: Vec<Wake>,
    /// Indices of the wake-ups that ended a sleep. Ascending.
    awakenings: Vec<usize>,
    now: Option<Span>,
}

impl Life {
    pub fn state(&self) -> Option<State> {
        self.now.map(|now| now.state)
    }

    /// The thread is in this state from here on. `before`: the state until now, as the event proves it.
    pub fn enter(&mut self, ts_ns: i64, cpu: u32, state: State, priority: Option<i32>, wake: Option<usize>) {
        self.awakenings.extend(wake);
        if let Some(mut now) = self.now {
            now.wake = wake;
            if now.state == State::Runnable && state == State::Running {
                // A move to another CPU that the recording does not show.
                now.cpu = cpu;
            }
            self.close(now, ts_ns);
        }
        let known = self.now.and_then(|now| now.priority);
        let priority = priority.map(KernelPriority).or(known);
        self.now = Some(Span { start_ns: ts_ns, end_ns: ts_ns, cpu, state, priority, wake: None });
    }

    fn close(&mut self, now: Span, ts_ns: i64) {
        if ts_ns > now.start_ns && now.state != State::Unknown {
            self.spans.push(Span { end_ns: ts_ns, ..now });
        }
    }

    /// The recording ends.
    pub fn finish(&mut self, ts_ns: i64) {
        if let Some(now) = self.now.take() {
            self.close(now, ts_ns);
        }
    }

    /// Stretches that overlap `start_ns..end_ns`.
    pub fn overlapping(&self, start_ns: i64, end_ns: i64) -> &[Span] {
        let first = self.spans.partition_point(|span| span.end_ns <= start_ns);
        let last = self.spans.partition_point(|span| span.start_ns < end_ns);
        self.spans.get(first..last).unwrap_or(&[])
    }

    /// The last wake-up that ended a sleep, up to an instant.
    pub fn woken_before(&self, ts_ns: i64) -> Option<&Wake> {
        let at_ns = |index: &usize| self.wakes.get(*index).map_or(i64::MAX, |wake| wake.ts_ns);
        let until = self.awakenings.partition_point(|index| at_ns(index) <= ts_ns);
        self.wakes.get(*self.awakenings.get(until.checked_sub(1)?)?)
    }

    /// The priority at an instant.
    pub fn priority_at(&self, ts_ns: i64) -> Option<KernelPriority> {
        let at = self.spans.partition_point(|span| span.end_ns <= ts_ns);
        self.spans.get(at).or(self.spans.last()).and_then(|span| span.priority)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stretches_follow_each_other_and_an_unknown_one_is_a_gap() {
        let mut life = Life::default();
        life.enter(10, 0, State::Running, Some(89), None);
        life.enter(20, 0, State::Asleep, None, None);
        life.wakes.push(Wake { ts_ns: 30, cpu: 0, by: Waker::Unknown });
        life.enter(30, 1, State::Runnable, None, Some(0));
        life.enter(40, 2, State::Running, None, None);
        life.enter(50, 2, State::Unknown, None, None);
        life.enter(60, 2, State::Running, None, None);
        life.finish(70);
        let found: Vec<_> = life.spans.iter().map(|span| (span.start_ns, span.end_ns, span.cpu, span.state)).collect();
        let expected = [
            (10, 20, 0, State::Running),
            (20, 30, 0, State::Asleep),
            (30, 40, 2, State::Runnable),
            (40, 50, 2, State::Running),
            (60, 70, 2, State::Running),
        ];
        assert_eq!(found, expected);
        assert_eq!((life.woken_before(30), life.woken_before(29)), (life.wakes.first(), None));
        assert_eq!(life.priority_at(45), Some(KernelPriority(89)));
        assert_eq!(life.overlapping(50, 60), []);
    }
}
