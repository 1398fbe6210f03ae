//! When periodic actions are due.

const FIRST_CHECKPOINT_NS: i64 = 1_000_000_000;
const LONGEST_CHECKPOINT_NS: i64 = 600_000_000_000;
/// After a day: the totals would be most of the archive of a week.
const DAY_NS: i64 = 86_400_000_000_000;
const LONGEST_LATER_NS: i64 = 3_600_000_000_000;

/// Due immediately, then periodically.
#[derive(Debug, Clone, Copy)]
pub struct Every {
    interval_ns: i64,
    next_ns: i64,
}

impl Every {
    pub const fn new(interval_ns: i64) -> Self {
        Self { interval_ns, next_ns: i64::MIN }
    }

    /// Whether it is due; if so, the next time is one interval later.
    pub fn is_due(&mut self, now_ns: i64) -> bool {
        let due = now_ns >= self.next_ns;
        if due {
            self.next_ns = now_ns + self.interval_ns;
        }
        due
    }
}

/// Totals so far, sent in case a run is cut off: the interval doubles each time, up to ten minutes, and after a day up to an hour.
#[derive(Debug, Clone, Copy)]
pub struct Checkpoints {
    start_ns: i64,
    every_ns: i64,
    next_ns: i64,
    /// The interval does not exceed this one.
    longest_ns: i64,
}

impl Checkpoints {
    pub fn from(start_ns: i64) -> Self {
        let next_ns = start_ns.saturating_add(FIRST_CHECKPOINT_NS);
        Self { start_ns, every_ns: FIRST_CHECKPOINT_NS, next_ns, longest_ns: LONGEST_LATER_NS }
    }

    /// The same, with an interval of at most this.
    pub fn at_most(self, longest_ns: i64) -> Self {
        Self { longest_ns: longest_ns.max(FIRST_CHECKPOINT_NS), ..self }
    }

    pub fn is_due(&mut self, now_ns: i64) -> bool {
        let due = now_ns >= self.next_ns;
        if due {
            let is_later = now_ns.saturating_sub(self.start_ns) >= DAY_NS;
            let longest_ns = if is_later { LONGEST_LATER_NS } else { LONGEST_CHECKPOINT_NS };
            self.every_ns = (self.every_ns * 2).min(longest_ns).min(self.longest_ns);
            self.next_ns = now_ns + self.every_ns;
        }
        due
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recurring_task_is_due_at_once_and_an_interval_after_each_time() {
        let mut every = Every::new(100);
        let due: Vec<i64> = (0..400).step_by(30).filter(|now_ns| every.is_due(*now_ns)).collect();
        assert_eq!(due, [0, 120, 240, 360]);
    }

    #[test]
    fn checkpoints_become_rarer() {
        let mut checkpoints = Checkpoints::from(5_000_000_000);
        let due: Vec<i64> = (0..40).filter(|second| checkpoints.is_due(second * 1_000_000_000)).collect();
        assert_eq!(due, [6, 8, 12, 20, 36]);
        let mut regular = Checkpoints::from(5_000_000_000).at_most(5_000_000_000);
        let due: Vec<i64> = (0..30).filter(|second| regular.is_due(second * 1_000_000_000)).collect();
        assert_eq!(due, [6, 8, 12, 17, 22, 27]);
        let mut of_a_week = Checkpoints::from(0);
        let count = (0..7 * 86_400).filter(|second| of_a_week.is_due(second * 1_000_000_000)).count();
        assert!((250..350).contains(&count), "{count}");
    }
}
