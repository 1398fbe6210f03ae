//! The recorded coin: every random choice follows from a seed that is stored with the result, so that anyone can verify
//! that the order was random.
//!
//! The generator is SplitMix64 (Steele, Lea and Flood 2014), whose output for a seed is the same everywhere.

/// Largest seed: a reader that stores JSON numbers in double precision reads it exactly.
pub const SEED_MAX: u64 = (1 << 53) - 1;

/// A sequence of random numbers determined by its seed.
#[derive(Debug, Clone)]
pub struct Coin {
    state: u64,
}

impl Coin {
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The coin of one round: it depends only on the seed and the number of the round, so a continued series makes the
    /// same choices as an uninterrupted one.
    pub fn of_round(seed: u64, round: u32) -> Self {
        let mut coin = Self::new(seed);
        let offset = coin.next_u64();
        let mut coin = Self::new(offset ^ u64::from(round));
        coin.next_u64();
        coin
    }

    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Evenly among 0 .. `bound`; 0 when `bound` is 0. Uneven by less than `bound` / 2^64.
    pub fn below(&mut self, bound: usize) -> usize {
        ((u128::from(self.next_u64()) * bound as u128) >> 64) as usize
    }

    /// Evenly in 0 .. 1.
    pub fn unit(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Shuffles a list; every order is equally likely.
    pub fn shuffle<T>(&mut self, list: &mut [T]) {
        for last in (1..list.len()).rev() {
            let chosen = self.below(last + 1);
            list.swap(last, chosen);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn the_sequence_is_the_published_one() {
        let mut coin = Coin::new(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| coin.next_u64()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_order_is_equally_likely_and_repeatable() {
        let order = |seed, round| {
            let mut order = [0, 1, 2];
            Coin::of_round(seed, round).shuffle(&mut order);
            order
        };
        assert_eq!(order(7, 3), order(7, 3));
        let mut seen: BTreeMap<[i32; 3], u32> = BTreeMap::new();
        for round in 0..6000 {
            *seen.entry(order(42, round)).or_default() += 1;
        }
        assert_eq!(seen.len(), 6);
        assert!(seen.values().all(|count| (880..1120).contains(count)), "{seen:?}");
    }
}
