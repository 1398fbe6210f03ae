//! Random numbers that vary the rounds of a load, from a fixed seed: every run of a load does the same work in the same
//! order, independent of time.

/// The random numbers of one worker.
#[derive(Debug)]
pub struct Draws {
    seed: u64,
    drawn: u64,
}

impl Draws {
    pub fn of_worker(number: u32) -> Self {
        Self { seed: mixed(u64::from(number) + 1), drawn: 0 }
    }

    /// The next number, uniform from `low` to `high`, both inclusive.
    pub fn between(&mut self, low: usize, high: usize) -> usize {
        self.drawn += 1;
        let span = high.saturating_sub(low) as u128 + 1;
        let share = u128::from(mixed(self.seed.wrapping_add(self.drawn))) * span;
        low + (share >> 64) as usize
    }
}

/// The output function of SplitMix64 (Steele, Lea, Flood 2014).
pub fn mixed(state: u64) -> u64 {
    let state = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let state = (state ^ state >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    state ^ state >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_draws_the_same_every_time_and_not_what_another_does() {
        let drawn = |number| {
            let mut draws = Draws::of_worker(number);
            (0..50).map(|_| draws.between(3, 9)).collect::<Vec<_>>()
        };
        assert_eq!(drawn(0), drawn(0));
        assert_ne!(drawn(0), drawn(1));
        assert!((3..=9).all(|value| drawn(0).contains(&value)), "{:?}", drawn(0));
        assert!(drawn(0).iter().all(|value| (3..=9).contains(value)));
    }
}
