//! Occasions on which wake-ups are late. The cause of a late wake-up often makes others late soon after, so late
//! wake-ups within some time of the first of an occasion belong to it. The next one starts another occasion.

use crate::blocks::{SecondState, Seconds};

/// A late wake-up this many seconds after the first of an occasion starts another one. Shorter if the allowed rate
/// requires it.
pub const OCCASION_S_MAX: u32 = archive::causes::OCCASION_S;
/// Longest occasion, as a part of the time in which one is allowed.
const OF_ALLOWED: f64 = 1.0 / 6.0;

/// Length of an occasion in seconds for an allowed rate per hour.
pub fn occasion_s(per_hour: f64) -> u32 {
    let allowed = OF_ALLOWED * 3600.0 / per_hour;
    if allowed < f64::from(OCCASION_S_MAX) { allowed.max(1.0) as u32 } else { OCCASION_S_MAX }
}

/// Occasions among seconds that are certainly bad.
pub fn occasions(seconds: &Seconds, occasion_s: u32) -> u64 {
    let (mut count, mut ends) = (0, 0);
    for (second, state) in seconds.states.iter().enumerate() {
        if *state == SecondState::Bad && second >= ends {
            (count, ends) = (count + 1, second + occasion_s.max(1) as usize);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_wake_ups_soon_after_another_are_one_occasion() {
        let at = |bad: &[usize]| {
            let state = |second: usize| if bad.contains(&second) { SecondState::Bad } else { SecondState::Good };
            Seconds { states: (0..4000).map(state).collect() }
        };
        assert_eq!(occasions(&at(&[0, 5, 599]), 600), 1);
        assert_eq!(occasions(&at(&[0, 5, 600, 601, 1300]), 600), 3);
        let always: Vec<usize> = (0..4000).collect();
        assert_eq!(occasions(&at(&always), 600), 7, "what never ends is no single occasion");
        assert_eq!(occasions(&at(&[]), 600), 0);
    }

    #[test]
    fn occasions_are_short_where_many_are_allowed() {
        assert_eq!([0.0, 1.0 / 24.0, 1.0, 60.0, 3600.0].map(occasion_s), [600, 600, 600, 10, 1]);
    }
}
