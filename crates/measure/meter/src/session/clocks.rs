//! Detects clocks that were set during a session.

use crate::kernel::clock;
use crate::problem::MeterProblem;
use archive::message::{Problem, Severity};

/// If the wall clock moved this far against CLOCK_MONOTONIC, it was set, not slewed.
const STEP_NS: i64 = 10_000_000;
const SUSPEND_NS: i64 = 1_000_000;

/// Offsets of the other clocks from CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    realtime_offset_ns: i64,
    boottime_offset_ns: i64,
}

/// Two clocks are read at two instants, and this thread may lose the CPU between them: the pair that was read fastest counts.
const READINGS: usize = 16;

/// Lead of a clock over CLOCK_MONOTONIC.
fn offset_ns(other_ns: impl Fn() -> i64, mut monotonic_ns: impl FnMut() -> i64) -> i64 {
    let mut read = || {
        let before_ns = monotonic_ns();
        let other_ns = other_ns();
        (monotonic_ns() - before_ns, other_ns - before_ns)
    };
    let first = read();
    let (_, offset_ns) = (1..READINGS).map(|_| read()).fold(first, |best, one| if one.0 < best.0 { one } else { best });
    offset_ns
}

impl Clocks {
    pub fn now() -> Self {
        Self {
            realtime_offset_ns: offset_ns(clock::realtime_ns, clock::monotonic_ns),
            boottime_offset_ns: offset_ns(clock::boottime_ns, clock::monotonic_ns),
        }
    }

    /// Changes of the clocks between two readings.
    pub fn changes_until(self, later: Self) -> Vec<Problem> {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let stepped_ns = later.realtime_offset_ns - self.realtime_offset_ns;
        let suspended_ns = later.boottime_offset_ns - self.boottime_offset_ns;
        let stepped = (stepped_ns.abs() > STEP_NS)
            .then(|| Problem::new(Severity::Notice, &MeterProblem::ClockStepped { seconds: seconds(stepped_ns) }));
        let suspended = (suspended_ns > SUSPEND_NS)
            .then(|| Problem::new(Severity::Invalid, &MeterProblem::Suspended { seconds: seconds(suspended_ns) }));
        stepped.into_iter().chain(suspended).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    const BEFORE: Clocks = Clocks { realtime_offset_ns: 1_000_000_000_000, boottime_offset_ns: 5_000_000_000 };

    #[test]
    fn losing_the_cpu_between_two_clocks_is_no_suspend() {
        // 4 ms pass between the clocks of every reading but one.
        let (now_ns, readings) = (Cell::new(0), Cell::new(0));
        let passes = |ns: i64| now_ns.replace(now_ns.get() + ns);
        let other = || {
            readings.set(readings.get() + 1);
            now_ns.set(now_ns.get() + if readings.get() == 5 { 100 } else { 4_000_000 });
            passes(100) + 7_000_000_000
        };
        assert_eq!(offset_ns(other, || passes(100)), 7_000_000_200);
    }

    #[test]
    fn a_set_wall_clock_is_reported_and_harms_nothing() {
        let after = Clocks { realtime_offset_ns: BEFORE.realtime_offset_ns - 3_600_000_000_000, ..BEFORE };
        let changes = BEFORE.changes_until(after);
        assert!(
            matches!(&changes[..], [Problem { severity: Severity::Notice, text, .. }] if text.contains("-3600.000 s")),
            "{changes:?}"
        );
    }

    #[test]
    fn a_slewed_clock_is_not_reported_and_a_suspend_invalidates() {
        let slewed = Clocks { realtime_offset_ns: BEFORE.realtime_offset_ns + 5_000_000, ..BEFORE };
        assert_eq!(BEFORE.changes_until(slewed), []);
        let suspended = Clocks { boottime_offset_ns: BEFORE.boottime_offset_ns + 2_000_000_000, ..BEFORE };
        assert!(matches!(&BEFORE.changes_until(suspended)[..], [Problem { severity: Severity::Invalid, .. }]));
    }
}
