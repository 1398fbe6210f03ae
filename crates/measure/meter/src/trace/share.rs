//! The part of a recording's budget that may be sent now, so that a program that does much is recorded up to its end.

/// Time over which the rest of the budget is spread where the run has no end.
const WITHOUT_END_NS: i64 = 60_000_000_000;
/// Shortest time over which the rest is spread.
const REST_NS_MIN: i64 = 1_000_000_000;
/// Part of the budget that may be sent at once: programs start with much work.
const AT_ONCE: u64 = 8;
/// Seconds of growth that may be sent at once.
const AT_ONCE_SECONDS: u64 = 4;
/// Part of the bytes that may be sent at once which a program may use before it has settled.
const SETTLING: u64 = 4;
const SECOND_NS: u128 = 1_000_000_000;

/// Bytes that grow with time and are spent by sending.
#[derive(Debug)]
pub struct Share {
    settled_ns: i64,
    ends_ns: Option<i64>,
    looked_ns: i64,
    a_second_max: u64,
    settles: bool,
    bytes: u64,
}

impl Share {
    /// At most `a_second_max` bytes are added each second. From `now_ns` to `settled_ns` there is a quarter of what may be sent
    /// at once, and the rest from then on. `ends_ns`: the end of the run, if it has one.
    pub fn begin(now_ns: i64, settled_ns: i64, ends_ns: Option<i64>, budget: u64, a_second_max: u64) -> Self {
        let settles = now_ns < settled_ns;
        let share = Self { settled_ns, ends_ns, looked_ns: settled_ns, a_second_max, settles, bytes: 0 };
        let at_once = share.at_once(budget);
        Self { bytes: if settles { at_once / SETTLING } else { at_once }, ..share }
    }

    /// Bytes that may be sent now, where `left` are left in all.
    pub fn now(&mut self, now_ns: i64, left: u64) -> u64 {
        if now_ns >= self.settled_ns {
            if std::mem::take(&mut self.settles) {
                self.bytes = self.bytes.saturating_add(self.at_once(left) / SETTLING * (SETTLING - 1));
            }
            let rest_ns = self.ends_ns.map_or(WITHOUT_END_NS, |end| end.saturating_sub(now_ns)).max(REST_NS_MIN);
            let passed_ns = u128::try_from(now_ns.saturating_sub(self.looked_ns)).unwrap_or(0);
            let spread = u128::from(left) * passed_ns / rest_ns.unsigned_abs() as u128;
            let grown = spread.min(u128::from(self.a_second_max) * passed_ns / SECOND_NS);
            self.looked_ns = now_ns;
            self.bytes = self.bytes.saturating_add(u64::try_from(grown).unwrap_or(u64::MAX));
        }
        self.bytes = self.bytes.min(self.at_once(left));
        self.bytes
    }

    pub fn spend(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }

    fn at_once(&self, budget: u64) -> u64 {
        budget.div_ceil(AT_ONCE).min(self.a_second_max.saturating_mul(AT_ONCE_SECONDS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;
    const A_SECOND: u64 = 8 << 20;

    /// Bytes that are sent in each second of a program that always has more, after a second of settling.
    fn sent(ends_ns: Option<i64>, seconds: i64) -> Vec<u64> {
        let mut left = 256_000_000;
        let mut share = Share::begin(0, SECOND_NS, ends_ns, left, A_SECOND);
        let mut sent = vec![0; seconds as usize];
        for tenth in 0..seconds * 10 {
            let bytes = share.now(tenth * SECOND_NS / 10, left);
            share.spend(bytes);
            left -= bytes;
            sent[(tenth / 10) as usize] += bytes;
        }
        sent
    }

    #[test]
    fn a_program_that_does_too_much_is_recorded_in_every_second_and_no_more_than_is_read_in_time() {
        let sent = sent(Some(10 * SECOND_NS), 10);
        assert!(sent.iter().all(|bytes| *bytes > 7_000_000), "{sent:?}");
        assert!(sent.iter().sum::<u64>() <= 14 * A_SECOND, "{sent:?}");
    }

    #[test]
    fn settling_leaves_most_for_the_loop() {
        let mut share = Share::begin(0, SECOND_NS, None, 256 << 20, A_SECOND);
        share.spend(share.bytes);
        assert_eq!(share.now(SECOND_NS / 2, 256 << 20), 0);
        assert!(share.now(SECOND_NS + SECOND_NS / 10, 256 << 20) > 0);
        let mut quiet = Share::begin(0, SECOND_NS, None, 256 << 20, A_SECOND);
        assert_eq!(quiet.now(9 * SECOND_NS, 256 << 20), 4 * A_SECOND);
    }

    #[test]
    fn a_run_without_an_end_never_uses_up_its_budget() {
        let sent = sent(None, 300);
        assert!(sent.iter().all(|bytes| *bytes > 0), "{sent:?}");
    }
}
