//! The time up to which spikes have been announced: an instant that only advances, and that a thread can wait for.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Everything up to this instant of CLOCK_MONOTONIC has been announced.
#[derive(Debug)]
pub struct AnnouncedUntil {
    state: Mutex<State>,
    reached: Condvar,
}

#[derive(Debug)]
struct State {
    ns: i64,
    /// The instant that a thread waits for. Without one, an advance makes no system call.
    awaited_ns: Option<i64>,
}

impl Default for AnnouncedUntil {
    fn default() -> Self {
        Self { state: Mutex::new(State { ns: i64::MIN, awaited_ns: None }), reached: Condvar::new() }
    }
}

impl AnnouncedUntil {
    /// Sets the time up to which everything is announced.
    pub fn advance(&self, ns: i64) {
        let mut state = self.lock();
        state.ns = state.ns.max(ns);
        if state.awaited_ns.is_some_and(|awaited_ns| state.ns >= awaited_ns) {
            self.reached.notify_all();
        }
    }

    /// Sleeps until everything up to this instant is announced, at most for the timeout. Returns whether it is. For one
    /// thread.
    pub fn wait_for(&self, ns: i64, timeout: Duration) -> bool {
        let mut state = self.lock();
        state.awaited_ns = Some(ns);
        let waited = self.reached.wait_timeout_while(state, timeout, |state| state.ns < ns);
        let (mut state, _) = waited.unwrap_or_else(PoisonError::into_inner);
        state.awaited_ns = None;
        state.ns >= ns
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::thread;

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn an_instant_that_was_announced_needs_no_wait() {
        let announced = AnnouncedUntil::default();
        assert!(!announced.wait_for(0, Duration::ZERO));
        announced.advance(50);
        announced.advance(40);
        assert!(announced.wait_for(50, Duration::ZERO), "it never goes back");
        assert!(!announced.wait_for(51, Duration::from_millis(1)));
    }

    #[test]
    fn a_thread_that_waits_is_woken_by_the_instant_it_waits_for() {
        let announced = Arc::new(AnnouncedUntil::default());
        let waiting = thread::spawn({
            let announced = announced.clone();
            move || announced.wait_for(100, LONG)
        });
        while announced.lock().awaited_ns.is_none() {
            thread::yield_now();
        }
        announced.advance(99);
        assert!(!waiting.is_finished());
        announced.advance(i64::MAX);
        assert!(waiting.join().unwrap());
        assert_eq!(announced.lock().awaited_ns, None);
    }
}
