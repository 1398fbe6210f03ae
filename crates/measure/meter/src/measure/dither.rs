//! Random intervals from a seed: the same seed gives the same instants.
//!
//! Wake-ups at a fixed interval can be in phase with a period of the system, such as its tick, and then always miss
//! what happens at other phases. In virtual time, where nothing drifts, they always do.

/// Draws intervals, uniform from half to one and a half of the mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dither {
    state: u64,
}

/// The step of SplitMix64, odd, so that no state repeats before all were visited.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Dither {
    /// One generator per pair of seed and thread.
    pub fn new(seed: u64, thread: u64) -> Self {
        Self { state: mixed(seed).wrapping_add(mixed(thread.wrapping_mul(STEP))) }
    }

    /// The next interval in ns.
    #[inline]
    pub fn interval_ns(&mut self, mean_ns: i64) -> i64 {
        self.state = self.state.wrapping_add(STEP);
        let share = u128::from(mixed(self.state)) * u128::from(mean_ns.unsigned_abs());
        mean_ns / 2 + (share >> 64) as i64
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014).
#[inline]
pub fn mixed(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(seed: u64, thread: u64, count: usize) -> Vec<i64> {
        let mut dither = Dither::new(seed, thread);
        (0..count).map(|_| dither.interval_ns(1_000_000)).collect()
    }

    #[test]
    fn a_seed_gives_its_intervals_and_no_others() {
        assert_eq!(drawn(1, 0, 100), drawn(1, 0, 100));
        assert_ne!(drawn(1, 0, 100), drawn(2, 0, 100));
        assert_ne!(drawn(1, 0, 100), drawn(1, 1, 100));
        // Archives contain seeds; a seed must give the same instants in every version.
        assert_eq!(drawn(1, 0, 3), [1_249_748, 872_393, 938_283]);
    }

    #[test]
    fn intervals_fill_their_range_evenly() {
        let mut tenths = [0u32; 10];
        for interval_ns in drawn(3, 0, 10_000) {
            assert!((500_000..1_500_000).contains(&interval_ns));
            tenths[((interval_ns - 500_000) / 100_000) as usize] += 1;
        }
        assert!(tenths.iter().all(|count| (850..1150).contains(count)), "{tenths:?}");
    }

    #[test]
    fn the_shortest_interval_is_still_one() {
        let mut dither = Dither::new(0, 0);
        assert!((0..1000).all(|_| dither.interval_ns(1000) >= 500));
    }
}
