//! The worst wake-up of each of the last seconds, for a stretch that is kept on request.

use archive::sample::Sample;
use archive::spike::SpikeReason;
use archive::watched::WatchedKind;

/// Seconds that it remembers.
pub const SECONDS_MAX: usize = 64;

const SECOND_NS: i64 = 1_000_000_000;

/// A sample that deserves to be kept with its trace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Late {
    /// Number of its series.
    pub thread: u32,
    pub tid: i32,
    pub kind: WatchedKind,
    pub sample: Sample,
    pub reason: SpikeReason,
    /// When the thread was switched in at the previous wake-up.
    pub previous_seen_ns: Option<i64>,
}

/// A fixed amount of memory, however many wake-ups there are.
#[derive(Debug)]
pub struct Recent {
    /// By second, modulo their number; with the second.
    slots: Box<[Option<(i64, Late)>; SECONDS_MAX]>,
    last: Option<Late>,
    /// The last one of all, also if it was forgotten.
    newest: Option<Late>,
    forgotten_until_ns: i64,
}

impl Default for Recent {
    fn default() -> Self {
        Self { slots: Box::new([None; SECONDS_MAX]), last: None, newest: None, forgotten_until_ns: i64::MIN }
    }
}

impl Recent {
    /// Remembers a wake-up if it is the worst of its second. Cycles are not wake-ups.
    pub fn see(&mut self, late: Late) {
        if late.kind == WatchedKind::Cycle {
            return;
        }
        self.newest = Some(late);
        if late.sample.due_ns < self.forgotten_until_ns {
            return;
        }
        self.last = Some(late);
        let second = late.sample.seen_ns() / SECOND_NS;
        let slot = &mut self.slots[second.rem_euclid(SECONDS_MAX as i64) as usize];
        match slot {
            Some((known, worst)) if *known == second && worst.sample.latency_ns >= late.sample.latency_ns => {}
            _ => *slot = Some((second, late)),
        }
    }

    /// Forgets every wake-up that was due before this instant.
    pub fn forget(&mut self, until_ns: i64) {
        self.slots.fill(None);
        self.last = None;
        self.forgotten_until_ns = until_ns;
    }

    /// The last wake-up, if it was seen since this instant. A snapshot may have taken what led to it.
    pub fn newest_since(&self, from_ns: i64) -> Option<Late> {
        self.newest.filter(|late| late.sample.seen_ns() >= from_ns)
    }

    /// The worst wake-up that was seen since this instant, as exactly as whole seconds show it; the last one at least.
    pub fn worst_since(&self, from_ns: i64) -> Option<Late> {
        let known = self.slots.iter().flatten().map(|(_, late)| late).chain(&self.last);
        known.filter(|late| late.sample.seen_ns() >= from_ns).max_by_key(|late| late.sample.latency_ns).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn late(kind: WatchedKind, due_ns: i64, latency_ns: i64) -> Late {
        let sample = Sample { cpu: 0, cycle: 0, due_ns, latency_ns };
        Late { thread: 0, tid: 1, kind, sample, reason: SpikeReason::Control, previous_seen_ns: None }
    }

    #[test]
    fn the_worst_wake_up_of_the_last_seconds_is_remembered() {
        let mut recent = Recent::default();
        assert_eq!(recent.worst_since(0), None);
        for (second, latency_ns) in [(1, 900), (70, 50), (71, 80), (71, 60), (72, 10)] {
            recent.see(late(WatchedKind::Timer, second * SECOND_NS, latency_ns));
        }
        recent.see(late(WatchedKind::Cycle, 72 * SECOND_NS, 5000));
        assert_eq!(recent.worst_since(70 * SECOND_NS).unwrap().sample.latency_ns, 80);
        assert_eq!(recent.worst_since(72 * SECOND_NS).unwrap().sample.latency_ns, 10);
        assert_eq!(recent.worst_since(73 * SECOND_NS), None);
        recent.see(late(WatchedKind::Woken, 135 * SECOND_NS, 1));
        assert_eq!(recent.worst_since(135 * SECOND_NS).unwrap().sample.latency_ns, 1, "second 71 has its place");
        recent.forget(140 * SECOND_NS);
        recent.see(late(WatchedKind::Timer, 139 * SECOND_NS, 7));
        assert_eq!(recent.worst_since(0), None);
        assert_eq!(recent.newest_since(0).unwrap().sample.latency_ns, 7, "better than nothing");
        assert_eq!(recent.newest_since(140 * SECOND_NS), None);
        recent.see(late(WatchedKind::Timer, 140 * SECOND_NS, 900));
        recent.see(late(WatchedKind::Timer, 140 * SECOND_NS + 5000, 3));
        assert_eq!(recent.worst_since(0).unwrap().sample.latency_ns, 900);
        assert_eq!(recent.worst_since(140 * SECOND_NS + 4000).unwrap().sample.latency_ns, 3, "the last one");
    }
}
