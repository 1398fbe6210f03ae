//! The part of an audit's budget that may be sent now, so that a program that does much is recorded up to its end.

/// Time over which the rest of the budget is spread where the run has no end.
const WITHOUT_END_NS: i64 = 60_000_000_000;
/// Shortest time over which the rest is spread.
const REST_NS_MIN: i64 = 1_000_000_000;
/// Part of the budget that may be sent at once: programs start with much work.
const AT_ONCE: u64 = 8;

/// Bytes that grow with time and are spent by sending.
#[derive(Debug)]
pub struct Share {
    ends_ns: Option<i64>,
    looked_ns: i64,
    bytes: u64,
}

impl Share {
    /// `ends_ns`: the end of the run, if it has one.
    pub fn begin(now_ns: i64, ends_ns: Option<i64>, budget: u64) -> Self {
        Self { ends_ns, looked_ns: now_ns, bytes: budget / AT_ONCE }
    }

    /// Bytes that may be sent now, where `left` are left in all.
    pub fn now(&mut self, now_ns: i64, left: u64) -> u64 {
        let rest_ns = self.ends_ns.map_or(WITHOUT_END_NS, |end| end.saturating_sub(now_ns)).max(REST_NS_MIN);
        let passed_ns = now_ns.saturating_sub(self.looked_ns).max(0);
        let grown = u128::from(left) * passed_ns as u128 / rest_ns as u128;
        self.looked_ns = now_ns;
        let bytes = self.bytes.saturating_add(u64::try_from(grown).unwrap_or(u64::MAX));
        self.bytes = bytes.min(left.div_ceil(AT_ONCE));
        self.bytes
    }

    pub fn spend(&mut self, bytes: u64) {
        self.bytes = self.bytes.saturating_sub(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: i64 = 1_000_000_000;

    /// Bytes that are sent in each second of a program that always has more.
    fn sent(ends_ns: Option<i64>, seconds: i64) -> Vec<u64> {
        let mut left = 256_000_000;
        let mut share = Share::begin(0, ends_ns, left);
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
    fn a_program_that_does_too_much_is_recorded_in_every_second() {
        let sent = sent(Some(10 * SECOND_NS), 10);
        assert!(sent.iter().all(|bytes| *bytes > 10_000_000), "{sent:?}");
        assert!(sent.iter().sum::<u64>() <= 256_000_000);
    }

    #[test]
    fn a_run_without_an_end_never_uses_up_its_budget() {
        let sent = sent(None, 300);
        assert!(sent.iter().all(|bytes| *bytes > 0), "{sent:?}");
    }
}
