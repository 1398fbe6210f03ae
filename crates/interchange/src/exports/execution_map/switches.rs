//! When the kernel says that a thread that wanted its CPU did not have it, from sched_switch.

use crate::recorded::{RecordedItem, Recording, Source};

/// Bits of `prev_state` that say why a task left its CPU by itself; without them it was preempted.
const SLEEPS: i64 = 0xff;

/// From a switch away from a thread that wanted its CPU until the switch back to it, in ns of the trace clock, ascending.
pub type Preemptions = Vec<(i64, i64)>;

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

/// How many of the stretches are within one of the gaps, and the largest time by which such a gap is longer.
pub fn agreement(preemptions: &[(i64, i64)], gaps: &[(i64, i64)]) -> (usize, i64) {
    let around = |stretch: &(i64, i64)| {
        let gap = gaps.iter().find(|gap| gap.0 <= stretch.0 && stretch.1 <= gap.1)?;
        Some((gap.1 - gap.0) - (stretch.1 - stretch.0))
    };
    let longer: Vec<i64> = preemptions.iter().filter_map(around).collect();
    (longer.len(), longer.iter().copied().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_switch_away_is_within_the_gap_that_its_thread_saw() {
        let gaps = [(100, 200), (300, 420)];
        assert_eq!(agreement(&[(110, 195), (310, 400)], &gaps), (2, 30));
        assert_eq!(agreement(&[(90, 195), (210, 220)], &gaps), (0, 0));
    }
}
