//! When the kernel says that a thread that wanted its CPU did not have it, from sched_switch.

use super::gaps::Stretch;
use crate::recorded::{RecordedItem, Recording, Source};

/// Bits of `prev_state` that say why a task left its CPU by itself; without them it was preempted.
const SLEEPS: i64 = 0xff;

/// From a switch away from a thread that wanted its CPU until the switch back to it, in ns of the trace clock, ascending.
pub type Preemptions = Vec<Stretch>;

/// Of each of these threads, those of which a trace has both ends.
pub fn preemptions<'a>(trace: impl Into<Source<'a>>, threads: &[i32]) -> Vec<Preemptions> {
    let recording = Recording::open(trace);
    let mut found = vec![Preemptions::new(); threads.len()];
    // Each thread is bound to one CPU.
    for cpu in recording.cpus() {
        let mut since: Vec<Option<i64>> = vec![None; threads.len()];
        for item in recording.items(cpu) {
            let RecordedItem::Event(event) = item else {
                since.fill(None);
                continue;
            };
            if (event.system(), event.name()) != ("sched", "sched_switch") {
                continue;
            }
            let Ok(at_ns) = i64::try_from(event.ts_ns) else { continue };
            let is = |field: &str, tid: i32| event.number(field) == Some(i64::from(tid));
            let is_preempted = event.number("prev_state").is_some_and(|state| state & SLEEPS == 0);
            for (at, tid) in threads.iter().enumerate() {
                if is("prev_pid", *tid) {
                    since[at] = is_preempted.then_some(at_ns);
                } else if is("next_pid", *tid)
                    && let Some(since_ns) = since[at].take()
                {
                    found[at].push((since_ns, at_ns));
                }
            }
        }
    }
    found.iter_mut().for_each(|of_thread| of_thread.sort_unstable());
    found
}

/// How well what traces show agrees with what a thread saw.
#[derive(Debug, Default)]
pub struct Agreement {
    /// Preemptions within a gap.
    pub within: usize,
    /// The largest time by which such a gap is longer.
    pub longer_ns: i64,
    /// The first preemption that no gap so far reached.
    pub next: usize,
}

impl Agreement {
    /// Takes the next gap of the thread; both gaps and preemptions come in the order of time.
    pub fn compare(&mut self, preemptions: &[Stretch], gap: Stretch) {
        let reached = preemptions[self.next..].iter().take_while(|preemption| preemption.0 < gap.1).count();
        for preemption in &preemptions[self.next..self.next + reached] {
            if gap.0 <= preemption.0 && preemption.1 <= gap.1 {
                self.within += 1;
                self.longer_ns = self.longer_ns.max((gap.1 - gap.0) - (preemption.1 - preemption.0));
            }
        }
        self.next += reached;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_away_is_within_the_gap_that_its_thread_saw() {
        let compared = |preemptions: &[Stretch]| {
            let mut agreement = Agreement::default();
            [(100, 200), (300, 420)].into_iter().for_each(|gap| agreement.compare(preemptions, gap));
            (agreement.within, agreement.longer_ns)
        };
        assert_eq!(compared(&[(110, 195), (310, 400)]), (2, 30));
        assert_eq!(compared(&[(90, 195), (210, 220)]), (0, 0));
        assert_eq!(compared(&[(110, 120), (130, 190), (190, 310), (310, 420)]), (3, 90));
    }
}
