//! Which passages of a point on one CPU have a time stamp, by the kernel's count of each.

/// One or several passages of a point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Passage {
    At {
        ns: i64,
    },
    /// The kernel counted `count` of them after one instant and before another, and has no time stamp of them.
    Lost {
        after_ns: i64,
        before_ns: i64,
        count: u64,
    },
}

/// The known passages on one CPU.
#[derive(Debug, Default)]
pub struct Ordinals {
    /// The kernel's count of the last passage that was reported, stamped or lost.
    reported: u64,
    /// No passage that was not reported was before this instant.
    reported_ns: i64,
}

impl Ordinals {
    /// Reports a stamp, which the kernel counted as passage number `ordinal` (from 1), and the loss of those before it.
    #[inline]
    pub fn passed(&mut self, ns: i64, ordinal: u64, mut each: impl FnMut(Passage)) {
        if ordinal <= self.reported {
            return;
        }
        self.lost_before(ordinal, ns, &mut each);
        each(Passage::At { ns });
        self.reported = ordinal;
        self.reported_ns = ns;
    }

    /// Reports the loss of the passages before number `ordinal`, which were before `before_ns`.
    #[inline]
    pub fn lost_before(&mut self, ordinal: u64, before_ns: i64, mut each: impl FnMut(Passage)) {
        let last = ordinal.saturating_sub(1);
        if last > self.reported {
            each(Passage::Lost { after_ns: self.reported_ns, before_ns, count: last - self.reported });
            self.reported = last;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lost(after_ns: i64, before_ns: i64, count: u64) -> Passage {
        Passage::Lost { after_ns, before_ns, count }
    }

    #[test]
    fn a_gap_in_the_counts_is_a_loss_before_the_stamp_that_shows_it() {
        let mut ordinals = Ordinals::default();
        let mut seen = Vec::new();
        ordinals.passed(10, 1, |passage| seen.push(passage));
        ordinals.passed(40, 4, |passage| seen.push(passage));
        ordinals.passed(50, 5, |passage| seen.push(passage));
        assert_eq!(seen, [Passage::At { ns: 10 }, lost(10, 40, 2), Passage::At { ns: 40 }, Passage::At { ns: 50 }]);
    }

    #[test]
    fn a_passage_is_reported_once_even_if_its_stamp_follows_its_loss() {
        let mut ordinals = Ordinals::default();
        let mut seen = Vec::new();
        ordinals.lost_before(3, 25, |passage| seen.push(passage));
        ordinals.lost_before(3, 26, |passage| seen.push(passage));
        ordinals.passed(20, 2, |passage| seen.push(passage));
        ordinals.passed(30, 3, |passage| seen.push(passage));
        assert_eq!(seen, [lost(0, 25, 2), Passage::At { ns: 30 }]);
    }
}
