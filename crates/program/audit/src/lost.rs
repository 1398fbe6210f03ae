//! The losses of a thread's recording: time without events, or calls.

/// Instants that are kept. Of more losses, each instant stands for twice as many.
const INSTANTS_MAX: usize = 4096;

/// Amounts that were lost, in ns or in calls, summed up to the end of each loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// Instant in ns, and everything that was lost until then; ascending.
    until: Vec<(i64, i64)>,
    /// Losses that an instant stands for, and how many of them the last one has.
    of_each: u64,
    of_last: u64,
}

impl Default for Lost {
    fn default() -> Self {
        Self { until: Vec::new(), of_each: 1, of_last: 1 }
    }
}

impl Lost {
    /// Adds a loss: the instant of the first event after it, and its amount.
    pub fn add(&mut self, until_ns: i64, amount: i64) {
        let before = self.until.last().map_or(0, |(_, total)| *total);
        let entry = (until_ns, before.saturating_add(amount.max(0)));
        match self.until.last_mut().filter(|_| self.of_last < self.of_each) {
            Some(last) => {
                *last = entry;
                self.of_last += 1;
            }
            None => {
                self.halve_if_full();
                self.until.push(entry);
                self.of_last = 1;
            }
        }
    }

    fn halve_if_full(&mut self) {
        if self.until.len() < INSTANTS_MAX {
            return;
        }
        let mut is_second = true;
        self.until.retain(|_| {
            is_second = !is_second;
            is_second
        });
        self.of_each = self.of_each.saturating_mul(2);
    }

    /// The amount that was lost in a stretch. A loss counts where it ends.
    pub fn within(&self, start_ns: i64, end_ns: i64) -> i64 {
        let total = |at_ns: i64| {
            let after = self.until.partition_point(|(until_ns, _)| *until_ns <= at_ns);
            after.checked_sub(1).map_or(0, |last| self.until[last].1)
        };
        total(end_ns).saturating_sub(total(start_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_losses_is_summed_in_bounded_memory() {
        let mut lost = Lost::default();
        for at in 0..100_000 {
            lost.add(at * 10 + 4, 4);
        }
        assert!(lost.until.len() <= INSTANTS_MAX);
        assert_eq!(lost.within(-1, 1_000_000), 400_000);
        let half = lost.within(0, 500_000);
        assert!((199_000..=201_000).contains(&half), "{half}");
        assert_eq!(lost.within(2_000_000, 3_000_000), 0);
    }
}
