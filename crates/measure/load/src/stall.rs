//! Detects loads that are alive but make no progress.

use std::time::{Duration, Instant};

/// Longest time without progress before a load counts as dead.
pub const PATIENCE: Duration = Duration::from_secs(2);

/// The last progress and its time.
#[derive(Debug)]
pub struct StallDetector {
    progress: u64,
    since: Instant,
}

impl StallDetector {
    pub fn new(now: Instant) -> Self {
        Self { progress: 0, since: now }
    }

    /// Records the progress at `now`; false if it has not changed for [`PATIENCE`].
    pub fn progresses(&mut self, progress: u64, now: Instant) -> bool {
        if progress != self.progress {
            *self = Self { progress, since: now };
            return true;
        }
        now.saturating_duration_since(self.since) < PATIENCE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_is_dead_after_standing_still_and_alive_again_when_it_moves() {
        let start = Instant::now();
        let at = |ms| start + Duration::from_millis(ms);
        let mut stall = StallDetector::new(start);
        assert!(stall.progresses(0, at(1999)));
        assert!(!stall.progresses(0, at(2000)));
        assert!(stall.progresses(1, at(2500)));
        assert!(stall.progresses(1, at(4499)));
        assert!(!stall.progresses(1, at(4500)));
        assert!(stall.progresses(2, at(9000)));
    }
}
