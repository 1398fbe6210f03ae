//! Assigns the kernel's time stamps of an interrupt to the reads of the device that counted them.
//!
//! A stamp and its count do not come at the same instant: on PREEMPT_RT the count follows in a thread, and an interrupt between the
//! clock and the read is counted before its stamp is asked for. And one handler may count several periods.
//!
//! An interrupt whose stamp is lost keeps its place among the others, so that no read gets the stamp of another one's.

use meter::kernel::event_stamps::Passage;

/// More entries than this between two reads are merged.
const KEPT: usize = 64;
/// After this number of reads in a row that leave an interrupt, nothing will count it.
const SURPLUS_READS_MAX: u32 = 3;

/// Interrupts from one instant to another; equal, and one interrupt, where the stamp is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Interrupts {
    from_ns: i64,
    until_ns: i64,
    count: u64,
}

impl Interrupts {
    fn stamp_ns(&self) -> Option<i64> {
        (self.from_ns == self.until_ns).then_some(self.from_ns)
    }
}

/// The interrupts that no read has counted yet, in ascending order of the latest instant at which each may have been.
#[derive(Debug)]
pub struct Pending {
    entries: Vec<Interrupts>,
    /// An earlier read may have counted the interrupts up to this instant.
    doubtful_until_ns: i64,
    /// Reads in a row that left an interrupt.
    surplus_reads: u32,
    /// An earlier read may have counted the first entry, whose stamp is lost.
    unsure: bool,
}

impl Pending {
    pub fn new() -> Self {
        let entries = Vec::with_capacity(KEPT);
        Self { entries, doubtful_until_ns: i64::MIN, surplus_reads: 0, unsure: false }
    }

    #[inline]
    pub fn add(&mut self, passage: Passage) {
        let mut added = match passage {
            Passage::At { ns } => Interrupts { from_ns: ns, until_ns: ns, count: 1 },
            Passage::Lost { after_ns, before_ns, count } => {
                Interrupts { from_ns: after_ns, until_ns: before_ns.max(after_ns.saturating_add(1)), count }
            }
        };
        // Which of two came first is unknown if one is on another CPU, and between the instants of the other.
        for other in &mut self.entries {
            if other.stamp_ns().is_some() && (added.from_ns..added.until_ns).contains(&other.until_ns) {
                other.from_ns = other.from_ns.min(added.from_ns);
            }
            if added.stamp_ns().is_some() && (other.from_ns + 1..other.until_ns).contains(&added.until_ns) {
                added.from_ns = other.from_ns;
            }
        }
        let place = self.entries.partition_point(|other| other.until_ns <= added.until_ns);
        if self.entries.len() < KEPT {
            self.entries.insert(place, added);
            return;
        }
        // The oldest are kept: a sample starts at the first.
        let into = &mut self.entries[place.clamp(1, KEPT - 1)];
        into.from_ns = into.from_ns.min(added.from_ns);
        into.until_ns = into.until_ns.max(added.until_ns);
        into.count = into.count.saturating_add(added.count);
    }

    /// Number of interrupts that no read has counted.
    #[inline]
    pub fn count(&self) -> u64 {
        self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.count))
    }

    /// The stamp of the first of them, where it is known.
    #[inline]
    pub fn first_ns(&self) -> Option<i64> {
        self.entries.first().and_then(Interrupts::stamp_ns)
    }

    /// The first stamp of a read that returned before `read_ns` and counted N `periods`; `None`: it is not known for certain.
    #[inline]
    pub fn counted(&mut self, periods: u64, read_ns: i64) -> Option<i64> {
        let surplus = self.count().saturating_sub(periods);
        let number_of = |entries: &[Interrupts], limit: &dyn Fn(&Interrupts) -> i64| {
            entries
                .iter()
                .take_while(|entry| limit(entry) <= self.doubtful_until_ns)
                .map(|entry| entry.count)
                .sum::<u64>()
        };
        let doubtful = surplus.min(number_of(&self.entries, &|entry| entry.until_ns));
        self.unsure |= surplus.min(number_of(&self.entries, &|entry| entry.from_ns)) > doubtful;
        self.forget(doubtful);
        let uncounted = self.count().saturating_sub(periods);
        self.surplus_reads = if uncounted > 0 { self.surplus_reads + 1 } else { 0 };
        if self.surplus_reads >= SURPLUS_READS_MAX {
            self.surplus_reads = 0;
            self.unsure = false;
            self.forget(uncounted);
        }
        let first_ns = self.first_ns().filter(|_| !self.unsure);
        let left = self.count();
        self.forget(periods);
        self.unsure &= left > periods;
        self.doubtful_until_ns = if left < periods { read_ns } else { i64::MIN };
        first_ns
    }

    /// Removes the first ones.
    #[inline]
    fn forget(&mut self, mut count: u64) {
        let mut whole = 0;
        for entry in &mut self.entries {
            if entry.count > count {
                entry.count -= count;
                break;
            }
            count -= entry.count;
            whole += 1;
        }
        self.entries.drain(..whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(ns: i64) -> Passage {
        Passage::At { ns }
    }

    fn lost(after_ns: i64, before_ns: i64, count: u64) -> Passage {
        Passage::Lost { after_ns, before_ns, count }
    }

    fn pending(passages: &[Passage]) -> Pending {
        let mut pending = Pending::new();
        passages.iter().for_each(|passage| pending.add(*passage));
        pending
    }

    #[test]
    fn a_stamp_that_comes_before_its_count_belongs_to_the_next_read() {
        let mut pending = pending(&[at(1000), at(2000)]);
        assert_eq!(pending.counted(1, 2010), Some(1000));
        assert_eq!(pending.counted(1, 2050), Some(2000));
        assert_eq!(pending.counted(1, 3050), None);
    }

    #[test]
    fn an_interrupt_between_the_clock_and_the_read_is_not_counted_again() {
        let mut pending = pending(&[at(1000)]);
        assert_eq!(pending.counted(2, 2010), Some(1000), "the clock was read before the second one");
        pending.add(at(2000));
        pending.add(at(3000));
        assert_eq!(pending.counted(1, 3010), Some(3000));
    }

    #[test]
    fn an_interrupt_directly_after_one_that_counted_several_periods_keeps_its_stamp() {
        let mut pending = pending(&[at(1000)]);
        assert_eq!(pending.counted(3, 2010), Some(1000));
        pending.add(at(2005));
        assert_eq!(pending.counted(1, 2100), Some(2005));
    }

    #[test]
    fn a_stamp_that_nothing_counts_delays_three_samples_at_most() {
        let mut pending = pending(&[at(500), at(1000)]);
        assert_eq!(pending.counted(1, 1010), Some(500));
        pending.add(at(2000));
        assert_eq!(pending.counted(1, 2010), Some(1000));
        pending.add(at(3000));
        assert_eq!(pending.counted(1, 3010), Some(3000));
        pending.add(at(4000));
        assert_eq!(pending.counted(1, 4010), Some(4000));
    }

    #[test]
    fn no_read_gets_the_stamp_of_a_later_interrupt_than_its_own() {
        // The stamp of the first is lost, and the second comes before its count.
        let mut pending = pending(&[lost(0, 2000, 1), at(2000)]);
        assert_eq!(pending.counted(1, 2010), None, "that of the second would be a period too late");
        assert_eq!(pending.counted(1, 2050), Some(2000));
        // Two periods are read, and only the second has a stamp.
        pending.add(lost(2000, 4000, 1));
        pending.add(at(4000));
        assert_eq!(pending.counted(2, 4010), None);
        pending.add(at(5000));
        assert_eq!(pending.counted(1, 5010), Some(5000));
        // Two periods are read, and only the first has a stamp.
        pending.add(at(6000));
        pending.add(lost(6000, 7010, 1));
        assert_eq!(pending.counted(2, 7010), Some(6000));
        pending.add(at(8000));
        assert_eq!(pending.counted(1, 8010), Some(8000));
    }

    #[test]
    fn a_stamp_of_one_cpu_while_another_lost_one_is_not_certain() {
        for passages in [[lost(0, 5000, 1), at(3000)], [at(3000), lost(0, 5000, 1)]] {
            let mut pending = pending(&passages);
            assert_eq!(pending.counted(1, 5010), None);
            assert_eq!(pending.counted(1, 5050), None);
            pending.add(at(6000));
            assert_eq!(pending.counted(1, 6010), Some(6000));
        }
    }

    #[test]
    fn after_a_loss_that_an_earlier_read_may_have_counted_nothing_is_measured_until_the_numbers_agree() {
        let mut pending = pending(&[at(1000)]);
        assert_eq!(pending.counted(2, 2010), Some(1000));
        // Was the second period that was read one handler's, or the interrupt whose stamp was lost?
        pending.add(lost(1000, 3000, 1));
        pending.add(at(3000));
        assert_eq!(pending.counted(1, 3010), None);
        pending.add(at(4000));
        assert_eq!(pending.counted(1, 4010), None);
        pending.add(at(5000));
        assert_eq!(pending.counted(1, 5010), Some(5000));
    }

    #[test]
    fn a_long_stall_starts_at_its_first_interrupt_however_many_follow() {
        let mut pending = Pending::new();
        (1..=1000).for_each(|number| pending.add(at(number * 1000)));
        assert_eq!((pending.entries.len(), pending.entries.capacity(), pending.count()), (KEPT, KEPT, 1000));
        assert_eq!(pending.counted(1000, 1_000_010), Some(1000));
        pending.add(at(1_001_000));
        assert_eq!(pending.counted(1, 1_001_010), Some(1_001_000));
    }
}
