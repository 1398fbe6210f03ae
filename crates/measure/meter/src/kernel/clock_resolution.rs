//! The distance of two instants that CLOCK_MONOTONIC distinguishes.

use super::clock::{monotonic_ns, now_ns};
use rustix::time::{ClockId, clock_getres};
use std::collections::BTreeSet;

/// Reads without anything between them.
const READS: usize = 10_000;
/// Repetitions for a clock that stands still between reads: more than a tick of 10 ms.
const REPETITIONS: usize = 100;
/// Different steps that show the clock's tick.
const STEPS_WANTED: usize = 3;
/// Longer steps were interrupted, and show nothing that these do not.
const STEPS_KEPT: usize = 32;

/// The larger of what the kernel states and the tick that the steps of the clock show, in ns; `None` if they show none.
pub fn resolution_ns() -> Option<u64> {
    tick_ns(&steps(monotonic_ns)).map(|tick_ns| tick_ns.max(stated_ns().unwrap_or(1)))
}

/// The resolution that the kernel states: a tick without high-resolution timers, otherwise 1 ns whatever the clock.
pub fn stated_ns() -> Option<u64> {
    let stated = clock_getres(ClockId::Monotonic);
    let seconds = u64::try_from(stated.tv_sec).ok()?;
    seconds.checked_mul(1_000_000_000)?.checked_add(u64::try_from(stated.tv_nsec).ok()?)
}

/// Smallest non-zero difference between two reads of a clock, in ns.
pub fn step_of_ns(clock: ClockId) -> u64 {
    smallest_step_ns(|| now_ns(clock))
}

fn smallest_step_ns(clock_ns: impl FnMut() -> i64) -> u64 {
    steps(clock_ns).into_iter().find(|step| *step > 0).unwrap_or(u64::MAX)
}

/// The shortest differences between consecutive reads.
fn steps(mut clock_ns: impl FnMut() -> i64) -> BTreeSet<u64> {
    let mut steps = BTreeSet::new();
    let mut reads_ns = vec![0; READS];
    for _ in 0..REPETITIONS {
        reads_ns.iter_mut().for_each(|read_ns| *read_ns = clock_ns());
        steps.extend(reads_ns.windows(2).map(|two| two[1].saturating_sub(two[0]).max(0) as u64));
        while steps.len() > STEPS_KEPT {
            steps.pop_last();
        }
        if steps.len() >= STEPS_WANTED || !steps.contains(&0) {
            break;
        }
    }
    steps
}

/// The smallest distance of steps that are not neighbours only by rounding: a clock of 41.7 ns has steps of 41, 42, 83 and
/// 84 ns, one of 1 ns has three in a row. `None` if all steps are the same, but for rounding.
fn tick_ns(steps: &BTreeSet<u64>) -> Option<u64> {
    let steps: Vec<u64> = steps.iter().copied().collect();
    if steps.windows(3).any(|three| three[2] - three[0] == 2) {
        return Some(1);
    }
    let unrounded: Vec<u64> = steps.iter().copied().filter(|step| !steps.contains(&step.wrapping_sub(1))).collect();
    unrounded.windows(2).map(|two| two[1] - two[0]).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A clock whose reads take `read_ns` in turn, rounded down to a multiple of a tick.
    fn steps_of(read_ns: &'static [f64], tick_ns: f64) -> BTreeSet<u64> {
        let (mut true_ns, mut reads) = (0.0, read_ns.iter().cycle());
        steps(move || {
            true_ns += reads.next().unwrap();
            ((true_ns / tick_ns).floor() * tick_ns) as i64
        })
    }

    #[test]
    fn a_tick_shows_in_the_steps_whether_a_read_takes_longer_or_not() {
        assert_eq!(tick_ns(&steps_of(&[18.0, 19.0, 21.0, 20.0], 1.0)), Some(1));
        assert_eq!(tick_ns(&steps_of(&[18.3, 23.9], 1000.0 / 24.0)), Some(41));
        assert!(tick_ns(&steps_of(&[900.0, 1013.0], 1000.0 / 14.3)).is_some_and(|ns| (69..=71).contains(&ns)));
        assert_eq!(tick_ns(&steps_of(&[25.0], 4e6)), Some(4_000_000));
        assert_eq!(tick_ns(&steps_of(&[25.0], 1e9)), None, "it never advanced");
        assert_eq!(smallest_step_ns(|| 7), u64::MAX);
    }

    #[test]
    fn this_machine_has_a_clock() {
        assert!(stated_ns().is_some_and(|ns| ns > 0));
        assert!(resolution_ns().is_none_or(|ns| ns < 20_000_000));
    }
}
