//! Requests to end a run early, counted: the first asks it to stop, the second kills it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A counter shared between the signal handler and the run.
#[derive(Debug, Clone, Default)]
pub struct StopRequests(Arc<AtomicUsize>);

impl StopRequests {
    pub fn request(&self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }

    pub fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}
