//! The calls in progress, and how long a client waits for each.

use crate::mcp::message::Id;
use crate::mcp::version::Era;
use std::time::{Duration, Instant};

/// Calls in progress at a time.
pub const CALLS_MAX: usize = 8;

#[derive(Debug, Default)]
pub struct Pending(Vec<Waiting>);

#[derive(Debug)]
struct Waiting {
    id: Id,
    era: Era,
    limit: Duration,
    deadline: Instant,
    measures: bool,
    /// The client gets no answer any more; the call still runs.
    is_dropped: bool,
}

/// A call whose time is over.
#[derive(Debug)]
pub struct Late {
    pub id: Id,
    pub era: Era,
    pub limit: Duration,
}

impl Pending {
    pub fn add(&mut self, id: Id, era: Era, limit: Duration, measures: bool) {
        self.0.push(Waiting { id, era, limit, deadline: Instant::now() + limit, measures, is_dropped: false });
    }

    pub fn has(&self, id: &Id) -> bool {
        self.0.iter().any(|waiting| waiting.id == *id)
    }

    pub fn is_full(&self) -> bool {
        self.0.len() >= CALLS_MAX
    }

    pub fn is_measuring(&self) -> bool {
        self.0.iter().any(|waiting| waiting.measures)
    }

    /// Whether the session may end: a measurement must restore its machine, other calls without a client may run on.
    pub fn is_over(&self) -> bool {
        self.0.iter().all(|waiting| waiting.is_dropped && !waiting.measures)
    }

    pub fn deadline(&self) -> Option<Instant> {
        self.0.iter().filter(|waiting| !waiting.is_dropped).map(|waiting| waiting.deadline).min()
    }

    /// The calls whose time is over, which get no other answer.
    pub fn late(&mut self) -> Vec<Late> {
        let now = Instant::now();
        let late = self.0.iter_mut().filter(|waiting| !waiting.is_dropped && waiting.deadline <= now);
        late.map(|waiting| {
            waiting.is_dropped = true;
            Late { id: waiting.id.clone(), era: waiting.era, limit: waiting.limit }
        })
        .collect()
    }

    /// Drops the answer of a call; whether it measures.
    pub fn cancel(&mut self, id: &Id) -> bool {
        let found = self.0.iter_mut().find(|waiting| waiting.id == *id);
        found.is_some_and(|waiting| {
            waiting.is_dropped = true;
            waiting.measures
        })
    }

    pub fn cancel_all(&mut self) {
        self.0.iter_mut().for_each(|waiting| waiting.is_dropped = true);
    }

    /// Ends a call; `None` if its answer is dropped.
    pub fn remove(&mut self, id: &Id) -> Option<Era> {
        let at = self.0.iter().position(|waiting| waiting.id == *id)?;
        let waiting = self.0.remove(at);
        (!waiting.is_dropped).then_some(waiting.era)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn id(number: u32) -> Id {
        Id::of(&json!(number)).unwrap()
    }

    #[test]
    fn a_late_call_is_answered_once_and_counts_until_it_ends() {
        let mut pending = Pending::default();
        pending.add(id(1), Era::Handshake, Duration::ZERO, false);
        pending.add(id(2), Era::Handshake, Duration::from_secs(60), true);
        assert_eq!(pending.late().len(), 1);
        assert!(pending.late().is_empty() && pending.has(&id(1)));
        assert_eq!(pending.remove(&id(1)), None);
        assert!(!pending.has(&id(1)));
        assert_eq!(pending.remove(&id(2)), Some(Era::Handshake));
    }

    #[test]
    fn a_session_waits_for_a_measurement_that_nobody_waits_for() {
        let mut pending = Pending::default();
        pending.add(id(1), Era::Handshake, Duration::from_secs(60), false);
        pending.add(id(2), Era::Handshake, Duration::from_secs(60), true);
        pending.cancel_all();
        assert!(!pending.is_over() && pending.deadline().is_none());
        assert_eq!(pending.remove(&id(2)), None);
        assert!(pending.is_over() && !pending.is_measuring());
    }
}
