//! How long a stretch of a run must be to be independent of its neighbours, as far as its bad seconds show.
//!
//! Seconds that keep the limit do not matter, however much they resemble their neighbours: a load that comes by day and
//! stays far below the limit is no disturbance.

use crate::blocks::autocorrelation;

/// With fewer bad seconds, clustering cannot be determined.
const BAD_MIN: usize = 3;
/// If neighbouring stretches correlate more than this, and more than chance explains, they are too short.
const AUTOCORRELATION_MAX: f64 = 0.1;
/// Stretches are never so long that fewer than this number remain.
pub const STRETCHES_MIN: usize = 20;

/// Length in seconds from which on stretches do not correlate with their neighbours, by the bad seconds. `None` if they
/// correlate at every length that this run can show.
pub fn independent_s(bad: impl IntoIterator<Item = bool>) -> Option<usize> {
    let counts: Vec<f64> = bad.into_iter().map(|bad| f64::from(u8::from(bad))).collect();
    if counts.iter().sum::<f64>() < BAD_MIN as f64 {
        return Some(1);
    }
    let lengths = std::iter::successors(Some(1usize), |length| Some(2 * length));
    let long_enough = |length: &usize| counts.len() / length >= STRETCHES_MIN;
    let resemble = |length: &usize| {
        let stretches: Vec<f64> = counts.chunks_exact(*length).map(|part| part.iter().sum()).collect();
        // Three standard deviations of chance correlation, because many lengths are tested.
        let chance = 3.0 / (stretches.len() as f64).sqrt();
        autocorrelation(&stretches, 1).is_some_and(|r| r > AUTOCORRELATION_MAX.max(chance))
    };
    let length = lengths.take_while(long_enough).filter(resemble).last().map_or(1, |longest| 2 * longest);
    (length == 1 || long_enough(&length)).then_some(length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    #[test]
    fn scattered_seconds_have_no_memory() {
        let mut coin = Coin::new(9);
        assert_eq!(independent_s((0..7200).map(|_| coin.unit() < 0.05)), Some(1));
        assert_eq!(
            (independent_s([]), independent_s([true; 100]), independent_s([true, false])),
            (Some(1), Some(1), Some(1))
        );
    }

    #[test]
    fn phases_need_stretches_as_long_as_they_are() {
        // Two minutes of load every twenty minutes.
        let length = independent_s((0..20 * 3600).map(|second| second % 1200 < 120)).unwrap();
        assert!((64..=256).contains(&length), "{length}");
        assert_eq!(
            independent_s((0..3600).map(|second| second > 2000)),
            None,
            "a change of level is no phase that comes again"
        );
    }
}
