//! The instant from which wake-ups count: chosen once, when every thread of a session is ready, and awaited by all of
//! them.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// An instant of CLOCK_MONOTONIC that is not known yet.
#[derive(Debug, Default)]
pub struct StartInstant {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Open,
    Chosen(i64),
    Cancelled,
}

impl StartInstant {
    /// Chooses the instant and wakes all waiting threads. Only the first choice counts.
    pub fn choose(&self, count_from_ns: i64) {
        self.settle(State::Chosen(count_from_ns));
    }

    /// Wakes all waiting threads: there will be no start. A chosen instant remains valid.
    pub fn cancel(&self) {
        self.settle(State::Cancelled);
    }

    fn settle(&self, state: State) {
        let mut current = self.lock();
        if *current == State::Open {
            *current = state;
            self.changed.notify_all();
        }
    }

    /// Sleeps until the instant is chosen; `None` if there will be none.
    pub fn wait(&self) -> Option<i64> {
        let open = |state: &mut State| *state == State::Open;
        let state = self.changed.wait_while(self.lock(), open).unwrap_or_else(PoisonError::into_inner);
        match *state {
            State::Chosen(count_from_ns) => Some(count_from_ns),
            State::Open | State::Cancelled => None,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn waiting(start: &Arc<StartInstant>) -> Vec<std::thread::JoinHandle<Option<i64>>> {
        (0..3)
            .map(|_| {
                std::thread::spawn({
                    let start = start.clone();
                    move || start.wait()
                })
            })
            .collect()
    }

    #[test]
    fn every_waiting_thread_gets_the_first_choice() {
        let start = Arc::new(StartInstant::default());
        let threads = waiting(&start);
        start.choose(7);
        start.choose(8);
        start.cancel();
        assert!(threads.into_iter().all(|thread| thread.join().unwrap() == Some(7)));
        assert_eq!(start.wait(), Some(7));
    }

    #[test]
    fn a_cancelled_start_releases_every_thread() {
        let start = Arc::new(StartInstant::default());
        let threads = waiting(&start);
        start.cancel();
        start.choose(7);
        assert!(threads.into_iter().all(|thread| thread.join().unwrap().is_none()));
    }
}
