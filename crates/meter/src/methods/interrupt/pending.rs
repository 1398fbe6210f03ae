//! Assigns the kernel's time stamps of an interrupt to the reads of the device that counted them.
//!
//! A stamp and its count do not come at the same instant: on PREEMPT_RT the count follows in a thread, and an interrupt between the
//! clock and the read is counted before its stamp is asked for. And one handler may count several periods.

/// More stamps than this between two reads are not kept.
const KEPT: usize = 64;
/// After this number of reads in a row that leave a stamp, nothing will count it.
const SURPLUS_READS_MAX: u32 = 3;

/// The stamps that no read has counted yet, in ascending order.
#[derive(Debug)]
pub struct Pending {
    stamps_ns: Vec<i64>,
    /// An earlier read may have counted the stamps up to this instant.
    doubtful_until_ns: i64,
    /// Reads in a row that left a stamp.
    surplus_reads: u32,
}

impl Pending {
    pub fn new() -> Self {
        Self { stamps_ns: Vec::with_capacity(KEPT), doubtful_until_ns: i64::MIN, surplus_reads: 0 }
    }

    #[inline]
    pub fn add(&mut self, stamp_ns: i64) {
        if self.stamps_ns.len() == KEPT {
            self.stamps_ns.remove(0);
        }
        let place = self.stamps_ns.partition_point(|other_ns| *other_ns <= stamp_ns);
        self.stamps_ns.insert(place, stamp_ns);
    }

    /// The first stamp of a read that returned before `read_ns` and counted N `periods`; `None`: there is no stamp.
    #[inline]
    pub fn counted(&mut self, periods: u64, read_ns: i64) -> Option<i64> {
        let periods = usize::try_from(periods).unwrap_or(usize::MAX);
        let surplus = self.stamps_ns.len().saturating_sub(periods);
        let doubtful = self.stamps_ns.partition_point(|stamp_ns| *stamp_ns <= self.doubtful_until_ns);
        self.stamps_ns.drain(..surplus.min(doubtful));
        self.surplus_reads = if self.stamps_ns.len() > periods { self.surplus_reads + 1 } else { 0 };
        if self.surplus_reads >= SURPLUS_READS_MAX {
            self.surplus_reads = 0;
            let uncounted = self.stamps_ns.len() - periods;
            self.stamps_ns.drain(..uncounted);
        }
        let first_ns = self.stamps_ns.first().copied();
        let taken = periods.min(self.stamps_ns.len());
        self.stamps_ns.drain(..taken);
        self.doubtful_until_ns = if taken < periods { read_ns } else { i64::MIN };
        first_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(stamps: &[i64]) -> Pending {
        let mut pending = Pending::new();
        stamps.iter().for_each(|stamp| pending.add(*stamp));
        pending
    }

    #[test]
    fn a_stamp_that_comes_before_its_count_belongs_to_the_next_read() {
        let mut pending = pending(&[1000, 2000]);
        assert_eq!(pending.counted(1, 2010), Some(1000));
        assert_eq!(pending.counted(1, 2050), Some(2000));
        assert_eq!(pending.counted(1, 3050), None);
    }

    #[test]
    fn an_interrupt_between_the_clock_and_the_read_is_not_counted_again() {
        let mut pending = pending(&[1000]);
        assert_eq!(pending.counted(2, 2010), Some(1000), "the clock was read before the second one");
        pending.add(2000);
        pending.add(3000);
        assert_eq!(pending.counted(1, 3010), Some(3000));
    }

    #[test]
    fn an_interrupt_directly_after_one_that_counted_several_periods_keeps_its_stamp() {
        let mut pending = pending(&[1000]);
        assert_eq!(pending.counted(3, 2010), Some(1000));
        pending.add(2005);
        assert_eq!(pending.counted(1, 2100), Some(2005));
    }

    #[test]
    fn a_stamp_that_nothing_counts_delays_three_samples_at_most() {
        let mut pending = pending(&[500, 1000]);
        assert_eq!(pending.counted(1, 1010), Some(500));
        pending.add(2000);
        assert_eq!(pending.counted(1, 2010), Some(1000));
        pending.add(3000);
        assert_eq!(pending.counted(1, 3010), Some(3000));
        pending.add(4000);
        assert_eq!(pending.counted(1, 4010), Some(4000));
    }

    #[test]
    fn what_was_never_read_is_bounded() {
        let mut pending = Pending::new();
        (0..1000).for_each(|stamp| pending.add(stamp));
        assert_eq!((pending.stamps_ns.len(), pending.stamps_ns.capacity()), (KEPT, KEPT));
    }
}
