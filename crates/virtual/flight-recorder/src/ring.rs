//! The last executed blocks, up to a fixed number.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Written and read by the one thread that executes the guest; the atomics make sharing sound at no cost here.
pub struct Ring {
    words: Box<[AtomicU64]>,
    /// Number of words ever pushed.
    pushed: AtomicU64,
}

impl Ring {
    /// Room for `capacity` words, rounded up to a power of two.
    pub fn with_capacity(capacity: usize) -> Self {
        let words = (0..capacity.next_power_of_two()).map(|_| AtomicU64::new(0)).collect();
        Self { words, pushed: AtomicU64::new(0) }
    }

    #[inline]
    pub fn push(&self, word: u64) {
        let pushed = self.pushed.load(Relaxed);
        self.words[pushed as usize & (self.words.len() - 1)].store(word, Relaxed);
        self.pushed.store(pushed.wrapping_add(1), Relaxed);
    }

    /// Number of words ever pushed; those that do not fit are overwritten.
    pub fn pushed(&self) -> u64 {
        self.pushed.load(Relaxed)
    }

    /// The remaining words, oldest first.
    pub fn words(&self) -> impl Iterator<Item = u64> + '_ {
        let pushed = self.pushed();
        let kept = pushed.min(self.words.len() as u64);
        (pushed - kept..pushed).map(|at| self.words[at as usize & (self.words.len() - 1)].load(Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_stay_in_their_order() {
        let ring = Ring::with_capacity(4);
        assert_eq!(ring.words().count(), 0);
        (1..=3).for_each(|word| ring.push(word));
        assert_eq!(ring.words().collect::<Vec<_>>(), [1, 2, 3]);
        (4..=10).for_each(|word| ring.push(word));
        assert_eq!(ring.words().collect::<Vec<_>>(), [7, 8, 9, 10]);
        assert_eq!(ring.pushed(), 10);
    }

    #[test]
    fn any_capacity_makes_a_ring() {
        let ring = Ring::with_capacity(0);
        ring.push(5);
        ring.push(6);
        assert_eq!(ring.words().collect::<Vec<_>>(), [6]);
    }
}
