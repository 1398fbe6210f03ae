//! Offset of the host's clock from the guest's, from questions of the host that the guest answered.
//!
//! A question only proves that the guest read its clock between question and answer: on a busy host one of the two
//! directions takes most of the time. Over a minute the offset lies near a straight line, but not on it: an emulator
//! whose threads run on host processors with different counters lets its guest's clock gain.

use std::collections::VecDeque;

/// Time before and after an instant from which questions are used for its offset.
const REACH_NS: i64 = 30_000_000_000;
/// Time after an instant for which questions are awaited, unless there will be none.
const SETTLED_NS: i64 = 3_000_000_000;
/// 70 years.
const GUEST_NS_MAX: i64 = 1 << 61;
const EXCHANGES_MAX: usize = 20_000;
/// Of questions within reach, four a second are used; a guest with a stopped clock would put all of them there.
const NEAR_MAX: usize = 500;
/// A guest calibrates its clock while it boots, with limited accuracy.
const SLOPE_NS_PER_S_MAX: f64 = 10_000_000.0;
/// How much a clock may temporarily deviate from the line; 300 µs/s were observed on a busy host.
const BESIDE_NS_PER_S: f64 = 500_000.0;

/// A question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// The host's clock, in ns.
    pub asked_ns: i64,
    pub received_ns: i64,
    /// The guest's clock, in ns.
    pub guest_ns: i64,
}

impl Exchange {
    /// Lower and upper bound of the offset.
    fn bounds_ns(&self) -> (i64, i64) {
        (self.asked_ns - self.guest_ns, self.received_ns - self.guest_ns)
    }
}

/// The host's clock minus the guest's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Difference {
    pub ns: i64,
    pub slack_ns: i64,
}

/// Recent questions and answers.
#[derive(Debug, Default)]
pub struct Clocks {
    exchanges: VecDeque<Exchange>,
}

impl Clocks {
    pub fn take(&mut self, exchange: Exchange) {
        // Impossible answers of a guest are ignored.
        let in_order = self.exchanges.back().is_none_or(|last| last.guest_ns <= exchange.guest_ns);
        if exchange.received_ns < exchange.asked_ns || !in_order || !(0..GUEST_NS_MAX).contains(&exchange.guest_ns) {
            return;
        }
        if self.exchanges.len() == EXCHANGES_MAX {
            self.exchanges.pop_front();
        }
        self.exchanges.push_back(exchange);
    }

    /// Whether enough questions follow an instant of the guest's clock to convert it to the host's.
    pub fn is_settled(&self, guest_ns: i64) -> bool {
        self.exchanges.back().is_some_and(|last| last.guest_ns.saturating_sub(guest_ns) >= SETTLED_NS)
    }

    /// The offset at an instant of the guest's clock. The slack is the uncertainty that the questions leave, however
    /// their time was divided between question and answer.
    pub fn difference(&self, guest_ns: i64) -> Option<Difference> {
        let is_near = |exchange: &&Exchange| exchange.guest_ns.abs_diff(guest_ns) <= REACH_NS as u64;
        let near: Vec<&Exchange> = self.exchanges.iter().filter(is_near).take(NEAR_MAX).collect();
        let closest = near.iter().min_by_key(|exchange| exchange.guest_ns.abs_diff(guest_ns))?;
        let (slope, either_way) = slope(&near);
        let bounds = |exchange: &&Exchange| {
            let seconds = (guest_ns - exchange.guest_ns) as f64 / 1e9;
            let moved_ns = (slope * seconds) as i64;
            let beside_ns = ((BESIDE_NS_PER_S + either_way) * seconds.abs()).ceil() as i64;
            let (least_ns, most_ns) = exchange.bounds_ns();
            (least_ns + moved_ns - beside_ns, most_ns + moved_ns + beside_ns)
        };
        let each = near.iter().map(bounds);
        let all = each.fold((i64::MIN, i64::MAX), |all, one| (all.0.max(one.0), all.1.min(one.1)));
        // A clock that was set in between is only known nearby.
        let (least_ns, most_ns) = if all.0 <= all.1 { all } else { bounds(closest) };
        let half_ns = (most_ns - least_ns + 1) / 2;
        Some(Difference { ns: least_ns + half_ns, slack_ns: half_ns.max(1) })
    }
}

/// How fast the offset changes, in ns/s, and its error: the range that all pairs of questions allow.
fn slope(exchanges: &[&Exchange]) -> (f64, f64) {
    let (mut least, mut most) = (-SLOPE_NS_PER_S_MAX, SLOPE_NS_PER_S_MAX);
    for (index, first) in exchanges.iter().enumerate() {
        for second in &exchanges[index + 1..] {
            let seconds = (second.guest_ns - first.guest_ns) as f64 / 1e9;
            if seconds > 0.0 {
                let (first, second) = (first.bounds_ns(), second.bounds_ns());
                least = least.max((second.0 - first.1) as f64 / seconds);
                most = most.min((second.1 - first.0) as f64 / seconds);
            }
        }
    }
    let bounded = |slope: f64| slope.clamp(-SLOPE_NS_PER_S_MAX, SLOPE_NS_PER_S_MAX);
    let (least, most) = (bounded(least), bounded(most));
    // If they contradict each other, the clock did not run evenly.
    (f64::midpoint(least, most), (most - least).abs() / 2.0)
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
            clocks.take(Exchange { asked_ns: at_ns - there, received_ns: at_ns + back, guest_ns });
        }
        clocks
    }

    #[test]
    fn even_answers_give_the_difference_and_its_drift() {
        let clocks = clocks(|_| (200_000, 200_000));
        for guest_ns in [10 * SECOND, 17 * SECOND + 3, 29 * SECOND] {
            let found = clocks.difference(guest_ns).unwrap();
            assert!((found.ns - (host_ns(guest_ns) - guest_ns)).abs() < 1000, "{found:?}");
            assert!((200_000..300_000).contains(&found.slack_ns), "{found:?}");
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
    fn answers_that_are_always_later_than_questions_do_not_shift_the_difference() {
        let clocks = clocks(|question| if question == 40 { (100_000, 600_000) } else { (100_000, 6_000_000) });
        let found = clocks.difference(20 * SECOND).unwrap();
        assert!((found.ns - (host_ns(20 * SECOND) - 20 * SECOND)).abs() <= found.slack_ns, "{found:?}");
        assert!(found.slack_ns < 500_000, "{found:?}");
    }

    #[test]
    fn a_clock_that_jumped_is_followed_nearby() {
        let mut clocks = Clocks::default();
        let step_ns = |guest_ns| if guest_ns < 30 * SECOND { 0 } else { 10 * SECOND };
        for question in 0..160 {
            let guest_ns = 10 * SECOND + question * SECOND / 4;
            let at_ns = host_ns(guest_ns) + step_ns(guest_ns);
            clocks.take(Exchange { asked_ns: at_ns - 200_000, received_ns: at_ns + 200_000, guest_ns });
        }
        for guest_ns in [20 * SECOND, 40 * SECOND] {
            let found = clocks.difference(guest_ns).unwrap();
            let error_ns = (found.ns - (host_ns(guest_ns) + step_ns(guest_ns) - guest_ns)).abs();
            assert!(error_ns <= found.slack_ns && found.slack_ns < 10_000_000, "{found:?}");
        }
    }

    #[test]
    fn an_instant_outside_all_clock_readings_is_less_exact() {
        let clocks = clocks(|_| (200_000, 200_000));
        let at_ns = 34 * SECOND + SECOND / 2;
        let found = clocks.difference(at_ns).unwrap();
        assert!(found.slack_ns > 250_000, "{found:?}");
        assert!((found.ns - (host_ns(at_ns) - at_ns)).abs() < 1000, "{found:?}");
        assert_eq!(clocks.difference(90 * SECOND), None);
        assert_eq!(Clocks::default().difference(0), None);
    }

    proptest! {
        #[test]
        fn the_difference_is_within_its_slack_however_the_time_was_divided(
            ways in proptest::collection::vec((0..3_000_000_i64, 0..30_000_000_i64), 1..60),
            at_ms in 8000..30_000_i64,
            (drift, later) in (-900..900_i64, -200..200_i64),
        ) {
            // From second 18 on the clock runs at a slightly different speed.
            let host_ns = |guest_ns: i64| {
                let after_ns = (guest_ns - 18 * SECOND).max(0);
                100 * SECOND + guest_ns + guest_ns / 1_000_000 * drift + after_ns / 1_000_000 * later
            };
            let mut clocks = Clocks::default();
            for (question, (there, back)) in (0..).zip(ways) {
                let guest_ns = 10 * SECOND + question * SECOND / 4;
                let at_ns = host_ns(guest_ns);
                clocks.take(Exchange { asked_ns: at_ns - there, received_ns: at_ns + back, guest_ns });
            }
            let guest_ns = at_ms * 1_000_000;
            let found = clocks.difference(guest_ns).unwrap();
            prop_assert!((found.ns - (host_ns(guest_ns) - guest_ns)).abs() <= found.slack_ns + 2, "{:?}", found);
        }

        #[test]
        fn any_answers_are_taken(
            answers in proptest::collection::vec((0..1_i64 << 61, 0..1_i64 << 61, any::<i64>()), 0..50),
            at_ns in any::<i64>(),
        ) {
            let mut clocks = Clocks::default();
            for (asked_ns, received_ns, guest_ns) in answers {
                clocks.take(Exchange { asked_ns, received_ns, guest_ns });
            }
            let _ = (clocks.is_settled(at_ns), clocks.difference(at_ns));
        }
    }
}
