//! How long each step of an injection took, and by how much some took far longer than usual.
//!
//! A program that does the same thing thousands of times knows how long it takes. What a step takes beyond that may be an interrupt, or
//! the host that did not execute the machine, or the step itself: nothing inside shows which.

/// A step that takes this many times the median is out of the ordinary.
const UNUSUAL_TIMES: i64 = 4;

/// Lengths of steps. All memory for them is got at the beginning: to get some between injections would be noticed.
pub struct Steps {
    last_ns: i64,
    took_ns: Vec<i64>,
    sorted_ns: Vec<i64>,
}

impl Steps {
    /// Room for this many.
    pub fn with_room(count: usize) -> Self {
        let touched = || {
            let mut lengths = vec![-1; count];
            lengths.clear();
            lengths
        };
        Self { last_ns: 0, took_ns: touched(), sorted_ns: touched() }
    }

    pub fn begin(&mut self, at_ns: i64) {
        self.last_ns = at_ns;
        self.took_ns.clear();
    }

    /// The end of a step, which is the beginning of the next. Beyond the room nothing is remembered.
    pub fn note(&mut self, at_ns: i64) -> i64 {
        if self.took_ns.len() < self.took_ns.capacity() {
            self.took_ns.push(at_ns - self.last_ns);
        }
        self.last_ns = at_ns;
        at_ns
    }

    /// By how much the unusual ones took longer than the median, together.
    pub fn unsure_ns(&mut self) -> i64 {
        self.sorted_ns.clear();
        self.sorted_ns.extend_from_slice(&self.took_ns);
        self.sorted_ns.sort_unstable();
        let median_ns = self.sorted_ns.get(self.sorted_ns.len() / 2).copied().unwrap_or(0);
        self.took_ns.iter().filter(|&&ns| ns > median_ns * UNUSUAL_TIMES).map(|ns| ns - median_ns).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsure_ns(took: &[i64]) -> i64 {
        let mut steps = Steps::with_room(took.len());
        let mut at_ns = 1_000_000;
        steps.begin(at_ns);
        for ns in took {
            at_ns += ns;
            assert_eq!(steps.note(at_ns), at_ns);
        }
        steps.unsure_ns()
    }

    #[test]
    fn a_step_longer_than_usual_is_unsure() {
        assert_eq!(unsure_ns(&[4, 4, 3, 64, 5, 4, 15]), 60);
        assert_eq!(unsure_ns(&[4, 4, 3]), 0);
        assert_eq!(unsure_ns(&[]), 0);
    }

    #[test]
    fn the_next_injection_starts_at_nothing_and_there_is_no_more_than_there_is_room_for() {
        let mut steps = Steps::with_room(4);
        let room = steps.took_ns.capacity();
        for begin_ns in [0, 5_000] {
            steps.begin(begin_ns);
            (1..=2 * room as i64).for_each(|step| {
                steps.note(begin_ns + step);
            });
            assert_eq!((steps.took_ns.len(), steps.unsure_ns()), (room, 0));
        }
    }
}
