//! The time of a thread of which events are missing.

/// Instants that are kept. Of more losses, each instant stands for twice as many.
const INSTANTS_MAX: usize = 4096;

/// Time that was not recorded, summed up to the end of a loss.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unseen {
    /// Instant, and everything that was lost until then, in ns; ascending.
    until: Vec<(i64, i64)>,
    /// Losses that an instant stands for, and how many of them the last one has.
    of_each: u64,
    of_last: u64,
}

impl Default for Unseen {
    fn default() -> Self {
        Self { until: Vec::new(), of_each: 1, of_last: 1 }
    }
}

impl Unseen {
    /// Adds the time from the last event before a loss to the first one after it.
    pub fn add(&mut self, from_ns: i64, to_ns: i64) {
        let lost_ns = to_ns.saturating_sub(from_ns).max(0);
        let before_ns = self.until.last().map_or(0, |(_, total_ns)| *total_ns);
        let entry = (to_ns, before_ns.saturating_add(lost_ns));
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

    /// The part of a stretch that was lost, in ns. A loss counts where it ends.
    pub fn within(&self, start_ns: i64, end_ns: i64) -> i64 {
        let total_ns = |at_ns: i64| {
            let after = self.until.partition_point(|(until_ns, _)| *until_ns <= at_ns);
            after.checked_sub(1).map_or(0, |last| self.until[last].1)
        };
        total_ns(end_ns).saturating_sub(total_ns(start_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_number_of_losses_is_summed_in_bounded_memory() {
        let mut unseen = Unseen::default();
        for at in 0..100_000 {
            unseen.add(at * 10, at * 10 + 4);
        }
        assert!(unseen.until.len() <= INSTANTS_MAX);
        assert_eq!(unseen.within(-1, 1_000_000), 400_000);
        let half_ns = unseen.within(0, 500_000);
        assert!((199_000..=201_000).contains(&half_ns), "{half_ns}");
        assert_eq!(unseen.within(2_000_000, 3_000_000), 0);
    }
}
