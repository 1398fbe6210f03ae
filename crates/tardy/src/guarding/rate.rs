//! The rate of accounts: a few at once after a quiet time, then a number per minute.

/// Tokens for accounts; time is passed in.
#[derive(Debug)]
pub struct Rate {
    per_minute: f64,
    burst: f64,
    tokens: f64,
    at_ns: i64,
}

impl Rate {
    pub fn of(per_minute: u32, burst: u32, now_ns: i64) -> Self {
        Self { per_minute: per_minute.into(), burst: burst.into(), tokens: burst.into(), at_ns: now_ns }
    }

    /// Takes a token if there is one.
    pub fn allows(&mut self, now_ns: i64) -> bool {
        let minutes = now_ns.saturating_sub(self.at_ns).max(0) as f64 / 60e9;
        self.at_ns = now_ns.max(self.at_ns);
        self.tokens = (self.tokens + minutes * self.per_minute).min(self.burst);
        let allowed = self.tokens >= 1.0;
        self.tokens -= f64::from(u8::from(allowed));
        allowed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_allowed_and_then_the_rate() {
        let second = 1_000_000_000;
        let mut rate = Rate::of(6, 3, 0);
        let allowed = |rate: &mut Rate, from: i64, to: i64| (from..to).filter(|at| rate.allows(at * second)).count();
        assert_eq!(allowed(&mut rate, 0, 5), 3);
        assert_eq!(allowed(&mut rate, 5, 65), 6);
        assert!(rate.allows(1000 * second) && rate.allows(1000 * second) && rate.allows(1000 * second));
        assert!(!rate.allows(1000 * second), "a long quiet time is one burst");
    }
}
