//! The K largest samples of a thread, in preallocated memory.

use archive::sample::Sample;

/// A binary heap with the smallest kept sample on top. Never allocates after `with_capacity`.
#[derive(Debug)]
pub struct WorstSamples {
    heap: Vec<Sample>,
    capacity: usize,
}

impl WorstSamples {
    pub fn with_capacity(capacity: usize) -> Self {
        // Written once and cleared, so that the pages exist before the first sample.
        let mut heap = vec![Sample { cpu: 0, cycle: 0, due_ns: 0, latency_ns: 0 }; capacity];
        heap.clear();
        Self { heap, capacity }
    }

    /// Keeps the sample if it is among the K largest.
    #[inline]
    pub fn offer(&mut self, sample: Sample) {
        if self.heap.len() < self.capacity {
            self.heap.push(sample);
            self.sift_up(self.heap.len() - 1);
        } else if self.heap.first().is_some_and(|least| sample.latency_ns > least.latency_ns) {
            self.heap[0] = sample;
            self.sift_down(0);
        }
    }

    fn sift_up(&mut self, mut at: usize) {
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.heap[parent].latency_ns <= self.heap[at].latency_ns {
                break;
            }
            self.heap.swap(parent, at);
            at = parent;
        }
    }

    fn sift_down(&mut self, mut at: usize) {
        loop {
            let mut least = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < self.heap.len() && self.heap[child].latency_ns < self.heap[least].latency_ns {
                    least = child;
                }
            }
            if least == at {
                return;
            }
            self.heap.swap(at, least);
            at = least;
        }
    }

    /// The kept samples, largest first.
    pub fn into_sorted(mut self) -> Vec<Sample> {
        self.heap.sort_unstable_by_key(|sample| (std::cmp::Reverse(sample.latency_ns), sample.due_ns));
        self.heap
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_stay() {
        let mut worst = WorstSamples::with_capacity(5);
        let before = worst.heap.capacity();
        for n in 0..1000i64 {
            worst.offer(Sample { cpu: 0, cycle: n as u64, due_ns: n, latency_ns: (n * 7919) % 1000 });
        }
        assert_eq!(worst.heap.capacity(), before);
        let kept: Vec<i64> = worst.into_sorted().iter().map(|sample| sample.latency_ns).collect();
        assert_eq!(kept, [999, 998, 997, 996, 995]);
    }

    #[test]
    fn none_may_be_kept() {
        let mut worst = WorstSamples::with_capacity(0);
        worst.offer(Sample { cpu: 0, cycle: 0, due_ns: 0, latency_ns: 1 });
        assert!(worst.into_sorted().is_empty());
    }
}
