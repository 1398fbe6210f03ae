//! How far the host's clock is ahead of the guest's, from questions the host asked and the guest answered.
//!
//! A question proves that the guest read its clock between asking and hearing: so the difference of the clocks is known to
//! half the time that took. Over a minute either clock is even enough for a straight line.

use std::collections::VecDeque;

/// Questions on both sides of an instant that are taken for its difference.
const REACH_NS: i64 = 30_000_000_000;
/// Later questions that are waited for, unless there will be none.
const SETTLED_NS: i64 = 3_000_000_000;
/// 70 years.
const GUEST_NS_MAX: i64 = 1 << 61;
const EXCHANGES_MAX: usize = 20_000;
/// Beyond its questions, a line may be off by so many ns a second.
const DRIFT_NS_PER_S: i64 = 100_000;

/// A question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The host's clock, in ns.
    pub asked_ns: i64,
    pub heard_ns: i64,
    /// The guest's.
    pub guest_ns: i64,
}

impl Exchange {
    fn difference_ns(&self) -> i64 {
        self.asked_ns + (self.heard_ns - self.asked_ns) / 2 - self.guest_ns
    }

    fn slack_ns(&self) -> i64 {
        ((self.heard_ns - self.asked_ns) / 2).max(1)
    }
}

/// The host's clock minus the guest's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    pub ns: i64,
    pub slack_ns: i64,
}

/// All that was asked lately.
#[derive(Debug, Default)]
pub struct Clocks {
    exchanges: VecDeque<Exchange>,
}

impl Clocks {
    pub fn take(&mut self, exchange: Exchange) {
        // A guest that says what cannot be is not believed.
        let in_order = self.exchanges.back().is_none_or(|last| last.guest_ns <= exchange.guest_ns);
        if exchange.heard_ns < exchange.asked_ns || !in_order || !(0..GUEST_NS_MAX).contains(&exchange.guest_ns) {
            return;
        }
        if self.exchanges.len() == EXCHANGES_MAX {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
    }

    /// Whether enough was asked after an instant of the guest's to say what it is to the host.
    pub fn is_settled(&self, guest_ns: i64) -> bool {
        self.exchanges.back().is_some_and(|last| last.guest_ns.saturating_sub(guest_ns) >= SETTLED_NS)
    }

    /// At an instant of the guest's.
    pub fn difference(&self, guest_ns: i64) -> Option<Difference> {
        let near = |exchange: &&Exchange| exchange.guest_ns.abs_diff(guest_ns) <= REACH_NS as u64;
        let near: Vec<&Exchange> = self.exchanges.iter().filter(near).collect();
        let best = near.iter().min_by_key(|exchange| exchange.slack_ns())?;
        // A line through all of them, the more exact ones first: in floating point, relative to the best.
        let points = near.iter().map(|exchange| {
            let (x, y) = (exchange.guest_ns - best.guest_ns, exchange.difference_ns() - best.difference_ns());
            let trust = best.slack_ns() as f64 / exchange.slack_ns() as f64;
            (x as f64 / 1e9, y as f64, trust * trust)
        });
        let [mut all, mut x1, mut y1, mut x2, mut xy] = [0.0; 5];
        for (x, y, trust) in points {
            all += trust;
            x1 += trust * x;
            y1 += trust * y;
            x2 += trust * x * x;
            xy += trust * x * y;
        }
        let spread = all * x2 - x1 * x1;
        let slope = if spread > all * all * 0.01 { (all * xy - x1 * y1) / spread } else { 0.0 };
        let at = (guest_ns - best.guest_ns) as f64 / 1e9;
        let ns = best.difference_ns() + ((y1 - slope * x1) / all + slope * at) as i64;
        let first_ns = near.first().map_or(guest_ns, |first| first.guest_ns);
        let last_ns = near.last().map_or(guest_ns, |last| last.guest_ns);
        let outside_ns = (first_ns - guest_ns).max(guest_ns - last_ns).max(0);
        let slack_ns = best.slack_ns() + outside_ns / 1_000_000_000 * DRIFT_NS_PER_S;
        Some(Difference { ns, slack_ns })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SECOND: i64 = 1_000_000_000;

    /// A guest that booted 100 s after the host, with a clock that is slower by 200 ppm, asked four times a second.
    fn host_ns(guest_ns: i64) -> i64 {
        100 * SECOND + guest_ns + guest_ns / 5000
    }

    fn clocks(there_and_back: impl Fn(i64) -> (i64, i64)) -> Clocks {
        let mut clocks = Clocks::default();
        for question in 0..80 {
            let guest_ns = 10 * SECOND + question * SECOND / 4;
            let (there, back) = there_and_back(question);
            let at_ns = host_ns(guest_ns);
            clocks.take(Exchange { asked_ns: at_ns - there, heard_ns: at_ns + back, guest_ns });
        }
        clocks
    }

    #[test]
    fn even_answers_give_the_difference_and_its_drift() {
        let clocks = clocks(|_| (200_000, 200_000));
        for guest_ns in [10 * SECOND, 17 * SECOND + 3, 29 * SECOND] {
            let found = clocks.difference(guest_ns).unwrap();
            assert!((found.ns - (host_ns(guest_ns) - guest_ns)).abs() < 1000, "{found:?}");
            assert_eq!(found.slack_ns, 200_000);
        }
        assert!(clocks.is_settled(26 * SECOND) && !clocks.is_settled(28 * SECOND));
    }

    #[test]
    fn slow_answers_hardly_count() {
        let clocks = clocks(|question| if question % 3 == 0 { (150_000, 250_000) } else { (300_000, 40_000_000) });
        let found = clocks.difference(20 * SECOND).unwrap();
        assert!((found.ns - (host_ns(20 * SECOND) - 20 * SECOND)).abs() < 200_000, "{found:?}");
    }

    #[test]
    fn what_lies_beyond_all_questions_is_less_exact() {
        let clocks = clocks(|_| (200_000, 200_000));
        assert_eq!(clocks.difference(34 * SECOND + SECOND / 2).unwrap().slack_ns, 200_000 + 4 * DRIFT_NS_PER_S);
        assert_eq!(clocks.difference(90 * SECOND), None);
        assert_eq!(Clocks::default().difference(0), None);
    }

    proptest! {
        #[test]
        fn any_answers_are_taken(
            answers in proptest::collection::vec((0..1_i64 << 61, 0..1_i64 << 61, any::<i64>()), 0..50),
            at_ns in any::<i64>(),
        ) {
            let mut clocks = Clocks::default();
            for (asked_ns, heard_ns, guest_ns) in answers {
                clocks.take(Exchange { asked_ns, heard_ns, guest_ns });
            }
            let _ = (clocks.is_settled(at_ns), clocks.difference(at_ns));
        }
    }
}
