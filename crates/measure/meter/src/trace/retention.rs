//! Selects the snapshots to keep: the largest, within a number and a budget of bytes, and the controls separately.

/// The snapshots that were sent and not dropped.
#[derive(Debug)]
pub struct Retention {
    snapshots_max: usize,
    budget_bytes: u64,
    kept: Vec<Kept>,
}

#[derive(Debug, Clone, Copy)]
struct Kept {
    number: u32,
    latency_ns: i64,
    bytes: u64,
    control: bool,
}

impl Retention {
    pub fn new(snapshots_max: usize, budget_bytes: u64) -> Self {
        Self { snapshots_max: snapshots_max.max(1), budget_bytes, kept: Vec::new() }
    }

    fn spikes(&self) -> impl Iterator<Item = &Kept> {
        self.kept.iter().filter(|kept| !kept.control)
    }

    /// Whether a snapshot with this latency would be kept.
    pub fn worth(&self, latency_ns: i64) -> bool {
        self.spikes().count() < self.snapshots_max || self.spikes().any(|kept| kept.latency_ns < latency_ns)
    }

    /// Adds a snapshot; returns the numbers of those to drop for it. The largest is never dropped.
    pub fn admit(&mut self, number: u32, latency_ns: i64, bytes: u64, control: bool) -> Vec<u32> {
        self.kept.push(Kept { number, latency_ns, bytes, control });
        let mut gone = Vec::new();
        while self.spikes().count() > self.snapshots_max || self.bytes() > self.budget_bytes {
            let largest = self.spikes().map(|kept| kept.latency_ns).max();
            let smallest =
                self.spikes().filter(|kept| Some(kept.latency_ns) != largest).min_by_key(|kept| kept.latency_ns);
            let Some(number) = smallest.map(|kept| kept.number) else { break };
            self.kept.retain(|kept| kept.number != number);
            gone.push(number);
        }
        gone
    }

    fn bytes(&self) -> u64 {
        self.kept.iter().map(|kept| kept.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_makes_room_and_the_largest_stays() {
        let mut retention = Retention::new(2, 1000);
        assert!(retention.admit(1, 500, 10, false).is_empty());
        assert!(retention.admit(2, 100, 10, false).is_empty());
        assert!(!retention.worth(100));
        assert!(retention.worth(101));
        assert_eq!(retention.admit(3, 200, 10, false), [2]);
        assert_eq!(retention.admit(4, 900, 10, false), [3]);
    }

    #[test]
    fn the_budget_evicts_but_never_the_largest() {
        let mut retention = Retention::new(10, 100);
        retention.admit(1, 50, 60, false);
        assert_eq!(retention.admit(2, 70, 60, false), [1]);
        assert_eq!(retention.admit(3, 10, 60, false), [3]);
        assert_eq!(retention.admit(4, 80, 500, false), [2]);
    }

    #[test]
    fn controls_do_not_take_the_place_of_spikes() {
        let mut retention = Retention::new(1, 1000);
        retention.admit(1, 50, 10, false);
        assert!(retention.admit(2, 5, 10, true).is_empty());
        assert!(retention.admit(3, 6, 10, true).is_empty());
    }
}
