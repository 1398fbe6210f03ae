//! Requests of a guard to its meter during the measurement.

use std::sync::{Arc, Mutex, PoisonError};

/// Requests that wait for a running meter; one that is made between two runs reaches the next.
#[derive(Debug, Clone, Default)]
pub struct MeterRequests(Arc<Mutex<Waiting>>);

#[derive(Debug, Default)]
struct Waiting {
    save: bool,
    shed: Option<usize>,
}

impl MeterRequests {
    /// Keeps the last seconds.
    pub fn save(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).save = true;
    }

    /// Stops recording the first kinds of events, this number of them, and records the others.
    pub fn shed(&self, kinds: usize) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).shed = Some(kinds);
    }

    /// The lines for the meter; empty without a request.
    pub(super) fn take(&self) -> String {
        let Waiting { save, shed } = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let shed = shed.map(|kinds| format!("shed {kinds}\n")).unwrap_or_default();
        format!("{shed}{}", if save { "save\n" } else { "" })
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
    }
}
