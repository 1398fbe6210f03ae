//! Counts lines in the output of a command and passes them from its readers to the archive.

use archive::counted::OutputCounts;
use archive::counted::counting::{Counting, LineInstant};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Texts to count, and their counts. Clones share them; `None` counts nothing.
#[derive(Debug, Clone, Default)]
pub struct CountedOutput(Option<Arc<Mutex<Counting>>>);

impl CountedOutput {
    /// All counts start at zero.
    pub fn new(texts: &[String]) -> Self {
        Self((!texts.is_empty()).then(|| Arc::new(Mutex::new(Counting::new(texts)))))
    }

    /// Whether there are no texts to count.
    pub fn is_idle(&self) -> bool {
        self.0.is_none()
    }

    /// Searches one line of the command's output, read at this instant of the watched machine's CLOCK_MONOTONIC.
    pub fn look_at(&self, line: &str, monotonic_ns: Option<i64>) {
        if let Some(mut counting) = self.counting() {
            counting.look_at(line, LineInstant { monotonic_ns, uncertain_ns: None });
        }
    }

    /// The changes since the last call, if any.
    pub fn take(&self) -> Option<OutputCounts> {
        self.counting()?.take()
    }

    fn counting(&self) -> Option<MutexGuard<'_, Counting>> {
        self.0.as_ref().map(|counting| counting.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
