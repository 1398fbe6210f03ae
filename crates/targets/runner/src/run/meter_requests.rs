//! Requests of a watch to its meter during the measurement.

use archive::spike::{RequestSource, SaveRequest};
use std::sync::{Arc, Mutex, PoisonError};

/// Requests that wait for a running meter; one that is made between two runs reaches the next.
#[derive(Debug, Clone, Default)]
pub struct MeterRequests(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    save: Option<SaveRequest>,
    shed: Option<usize>,
}

impl MeterRequests {
    /// Keeps the last seconds.
    pub fn save(&self) {
        self.request(SaveRequest::new(RequestSource::Signal, ""));
    }

    /// Keeps the last seconds, for a reason that a user typed.
    pub fn save_by_key(&self, reason: &str) {
        self.request(SaveRequest::new(RequestSource::Key, reason));
    }

    fn request(&self, request: SaveRequest) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).save = Some(request);
    }

    /// Stops recording the first kinds of events, this number of them, and records the others.
    pub fn shed(&self, kinds: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).shed = Some(kinds);
    }

    /// The lines for the meter; empty without a request.
    pub(super) fn take(&self) -> String {
        let Waiting { save, shed } = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let shed = shed.map(|kinds| format!("shed {kinds}\n")).unwrap_or_default();
        let save = save.map(|SaveRequest { by, reason }| match by {
            RequestSource::Key => format!("save key {reason}\n"),
            RequestSource::Signal | RequestSource::Program | RequestSource::Chain(_) => "save\n".into(),
        });
        shed + &save.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_wait_for_a_meter_and_reach_it_once() {
        let requests = MeterRequests::default();
        assert_eq!(requests.take(), "");
        let of_another_thread = requests.clone();
        of_another_thread.save();
        of_another_thread.shed(1);
        requests.shed(3);
        assert_eq!(requests.take(), "shed 3\nsave\n");
        assert_eq!(requests.take(), "");
        requests.save_by_key("arm\n1");
        assert_eq!(requests.take(), "save key arm 1\n");
    }
}
