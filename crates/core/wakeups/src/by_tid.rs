//! Maps with one look-up for each event of a trace, by the number of a thread.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Values of threads. A hostile recording can choose numbers that collide, about 2^16 of them in one place.
pub type ByTid<T> = HashMap<i32, T, BuildHasherDefault<TidHasher>>;

/// One multiplication, because the kernel counts threads upwards.
#[derive(Debug, Clone, Copy, Default)]
pub struct TidHasher(u64);

/// 2^64 divided by the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for TidHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_i32(i32::from(*byte)));
    }

    #[inline]
    fn write_i32(&mut self, tid: i32) {
        let mixed = (self.0 ^ u64::from(tid as u32)).wrapping_mul(FACTOR);
        self.0 = mixed ^ mixed >> 32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn numbers_of_threads_spread_over_a_map() {
        let hash = |tid: i32| {
            let mut hasher = TidHasher::default();
            hasher.write_i32(tid);
            hasher.finish()
        };
        // Numbers in a row, and numbers apart by a power of two.
        for step in [1, 4096] {
            let places: BTreeSet<u64> = (0..1024).map(|index| hash(index * step) & 0xffff).collect();
            assert!(places.len() > 900, "{step}: {}", places.len());
        }
    }
}
