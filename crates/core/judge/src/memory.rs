//! How long a stretch of a run must be to be independent of its neighbours, as far as the run shows.
//!
//! If nothing exceeds a limit, the run cannot show how late wake-ups cluster. The seconds with the worst wake-ups are
//! used instead: a disturbance that lasts longer than one of them makes the next second late as well.

use crate::blocks::autocorrelation;

/// Share of the seconds that are used instead of those over the limit.
const LATEST: f64 = 0.05;
/// With fewer of them, clustering cannot be determined.
const LATEST_MIN: usize = 8;
/// If neighbouring stretches correlate more than this, and more than chance explains, they are too short.
const AUTOCORRELATION_MAX: f64 = 0.1;
/// Stretches are never so long that fewer than this number remain.
const STRETCHES_MIN: usize = 20;

/// Length in seconds from which on stretches do not correlate with their neighbours, by the counts of each second.
/// `None` if they correlate at every length that this run can show.
pub fn independent_s(counts: &[f64]) -> Option<usize> {
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

/// The same for the worst twentieth of the seconds, each given by its maximum.
pub fn of_worst(maxima_ns: &[i64]) -> Option<usize> {
    let mut sorted = maxima_ns.to_vec();
    sorted.sort_unstable();
    let number = ((sorted.len() as f64 * LATEST) as usize).max(LATEST_MIN);
    let Some(level) = sorted.len().checked_sub(number).and_then(|at| sorted.get(at)) else { return Some(1) };
    let latest: Vec<f64> = maxima_ns.iter().map(|ns| f64::from(u8::from(ns >= level))).collect();
    independent_s(&latest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::coin::Coin;

    #[test]
    fn independent_values_have_no_memory() {
        let mut coin = Coin::new(9);
        let scattered: Vec<i64> = (0..7200).map(|_| (coin.unit() * 1e5) as i64).collect();
        assert_eq!(of_worst(&scattered), Some(1));
        assert_eq!((of_worst(&[]), of_worst(&[5; 100]), of_worst(&[1, 2, 3])), (Some(1), Some(1), Some(1)));
    }

    #[test]
    fn phases_need_stretches_as_long_as_they_are() {
        // Two minutes of load every twenty minutes.
        let phases: Vec<i64> = (0..20 * 3600).map(|second| if second % 1200 < 120 { 200 } else { 1 }).collect();
        let length = of_worst(&phases).unwrap();
        assert!((64..=256).contains(&length), "{length}");
        let once: Vec<i64> =
            (0..3600).map(|second| if second > 2000 { 200 + second % 7 } else { second % 5 }).collect();
        assert_eq!(of_worst(&once), None, "a change of level is no phase that comes again");
    }
}
