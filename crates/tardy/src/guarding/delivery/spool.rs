//! The entries that wait for one output, in memory; the log has them on disk.

use super::super::figures::Deliveries;
use serde::Deserialize;
use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use tokio::sync::Notify;

/// Entries that wait, and their bytes; beyond it the oldest but the first one, which may be on its way, is not delivered.
const WAITING_MAX: usize = 1000;
const WAITING_BYTES_MAX: usize = 2 << 20;

/// An entry of the log with what outputs need of it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Logged {
    pub number: u64,
    pub kind: String,
    #[serde(default)]
    pub session: String,
    /// The entry without its line feed.
    #[serde(skip)]
    pub line: String,
}

impl Logged {
    /// The entry of a line of the log.
    pub fn of(line: String) -> Option<Self> {
        let known: Self = serde_json::from_str(&line).ok()?;
        Some(Self { line: line.trim_end().to_owned(), ..known })
    }
}

#[derive(Default)]
pub struct Spool {
    state: Mutex<State>,
    changed: Notify,
    ending: Notify,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Logged>,
    bytes: usize,
    counts: Deliveries,
    has_ended: bool,
}

impl Spool {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn add(&self, entry: Logged) {
        let mut state = self.state();
        state.bytes += entry.line.len();
        state.waiting.push_back(entry);
        while state.waiting.len() > 1 && (state.waiting.len() > WAITING_MAX || state.bytes > WAITING_BYTES_MAX) {
            let oldest = state.waiting.remove(1);
            state.bytes -= oldest.map_or(0, |oldest| oldest.line.len());
            state.counts.undelivered += 1;
        }
        drop(state);
        self.changed.notify_one();
    }

    pub fn first(&self) -> Option<Logged> {
        self.state().waiting.front().cloned()
    }

    /// The first entry needs no further attempt.
    pub fn finish(&self, number: u64, is_delivered: bool) {
        let mut state = self.state();
        if state.waiting.front().is_some_and(|first| first.number == number) {
            let first = state.waiting.pop_front();
            state.bytes -= first.map_or(0, |first| first.line.len());
        }
        if is_delivered {
            state.counts.delivered += 1;
        } else {
            state.counts.undelivered += 1;
        }
    }

    pub fn counts(&self) -> Deliveries {
        let state = self.state();
        Deliveries { waiting: state.waiting.len(), ..state.counts }
    }

    pub async fn changed(&self) {
        self.changed.notified().await;
    }

    pub fn end(&self) {
        self.state().has_ended = true;
        self.changed.notify_one();
        self.ending.notify_one();
    }

    pub fn has_ended(&self) -> bool {
        self.state().has_ended
    }

    pub async fn ended(&self) {
        self.ending.notified().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(number: u64, bytes: usize) -> Logged {
        let line = format!("{{\"number\":{number},\"kind\":\"miss\",\"x\":\"{}\"}}\n", "x".repeat(bytes));
        Logged::of(line).unwrap()
    }

    #[test]
    fn entries_wait_up_to_a_number_and_a_size_and_the_first_stays() {
        let spool = Spool::default();
        (1..=1500).for_each(|number| spool.add(entry(number, 0)));
        let counts = spool.counts();
        assert_eq!((counts.waiting, counts.undelivered, spool.first().unwrap().number), (WAITING_MAX, 500, 1));
        spool.finish(1, true);
        assert_eq!(spool.first().unwrap().number, 502);
        assert_eq!(spool.counts(), Deliveries { waiting: 999, delivered: 1, undelivered: 500 });
        let spool = Spool::default();
        (1..=10).for_each(|number| spool.add(entry(number, WAITING_BYTES_MAX / 4)));
        assert_eq!(spool.counts(), Deliveries { waiting: 3, delivered: 0, undelivered: 7 });
        assert_eq!(Logged::of("no entry".into()), None);
    }
}
