//! A queue from one thread to another, without locks, allocation or waiting: records have a fixed number of words.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// Queue of records of `WORDS` words. One thread pushes, one thread pops; a full queue rejects records.
#[derive(Debug)]
pub struct Ring<const WORDS: usize> {
    slots: Box<[[AtomicU64; WORDS]]>,
    /// Records ever pushed; written by the producer.
    pushed: AtomicUsize,
    /// Records ever popped; written by the consumer.
    popped: AtomicUsize,
}

impl<const WORDS: usize> Ring<WORDS> {
    /// Holds up to `capacity` records, rounded up to a power of two. All memory is touched here.
    pub fn with_capacity(capacity: usize) -> Self {
        let slots = (0..capacity.next_power_of_two()).map(|_| std::array::from_fn(|_| AtomicU64::new(0))).collect();
        Self { slots, pushed: AtomicUsize::new(0), popped: AtomicUsize::new(0) }
    }

    /// Appends a record; `false` if the queue is full. Only the producer may call it.
    #[inline]
    pub fn push(&self, record: [u64; WORDS]) -> bool {
        let pushed = self.pushed.load(Ordering::Relaxed);
        if pushed.wrapping_sub(self.popped.load(Ordering::Acquire)) >= self.slots.len() {
            return false;
        }
        let slot = &self.slots[pushed & (self.slots.len() - 1)];
        for (word, value) in slot.iter().zip(record) {
            word.store(value, Ordering::Relaxed);
        }
        self.pushed.store(pushed.wrapping_add(1), Ordering::Release);
        true
    }

    /// Removes the oldest record. Only the consumer may call it.
    pub fn pop(&self) -> Option<[u64; WORDS]> {
        let popped = self.popped.load(Ordering::Relaxed);
        if popped == self.pushed.load(Ordering::Acquire) {
            return None;
        }
        let slot = &self.slots[popped & (self.slots.len() - 1)];
        let record = std::array::from_fn(|at| slot[at].load(Ordering::Relaxed));
        self.popped.store(popped.wrapping_add(1), Ordering::Release);
        Some(record)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_refuses_and_loses_nothing() {
        let ring = Ring::<2>::with_capacity(4);
        for n in 0..4 {
            assert!(ring.push([n, n + 100]));
        }
        assert!(!ring.push([9, 9]));
        assert_eq!(ring.pop(), Some([0, 100]));
        assert!(ring.push([4, 104]));
        let rest: Vec<_> = std::iter::from_fn(|| ring.pop()).collect();
        assert_eq!(rest, [[1, 101], [2, 102], [3, 103], [4, 104]]);
    }

    #[test]
    fn records_cross_threads_whole_and_in_order() {
        let ring = Ring::<3>::with_capacity(8);
        let count = if cfg!(miri) { 200 } else { 100_000 };
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for n in 0..count {
                    while !ring.push([n, n * 2, n * 3]) {
                        std::thread::yield_now();
                    }
                }
            });
            let mut next = 0;
            while next < count {
                match ring.pop() {
                    Some(record) => {
                        assert_eq!(record, [next, next * 2, next * 3]);
                        next += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
    }
}
