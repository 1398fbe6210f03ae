//! Clocks that must keep their distance while a session runs.

use crate::kernel::clock;
use archive::message::{Problem, Severity};

/// A wall clock that moved this far against CLOCK_MONOTONIC was set, not slewed.
const STEP_NS: i64 = 10_000_000;
const SUSPEND_NS: i64 = 1_000_000;

/// Distances of the other clocks from CLOCK_MONOTONIC.
#[derive(Debug, Clone, Copy)]
pub struct Clocks {
    realtime_offset_ns: i64,
    boottime_offset_ns: i64,
}

impl Clocks {
    pub fn now() -> Self {
        let monotonic_ns = clock::monotonic_ns();
        Self {
            realtime_offset_ns: clock::realtime_ns() - monotonic_ns,
            boottime_offset_ns: clock::boottime_ns() - monotonic_ns,
        }
    }

    /// What happened to the clocks between two looks at them.
    pub fn changes_until(self, later: Self) -> Vec<Problem> {
        let seconds = |ns: i64| ns as f64 / 1e9;
        let stepped_ns = later.realtime_offset_ns - self.realtime_offset_ns;
        let suspended_ns = later.boottime_offset_ns - self.boottime_offset_ns;
        let stepped = (stepped_ns.abs() > STEP_NS).then(|| Problem {
            code: Default::default(),
            severity: Severity::Notice,
            text: format!(
                "the wall clock was set by {:+.3} s during the run; latencies are taken on CLOCK_MONOTONIC and stand",
                seconds(stepped_ns)
            ),
            fix: String::new(),
        });
        let suspended = (suspended_ns > SUSPEND_NS).then(|| Problem {
            code: Default::default(),
            severity: Severity::Invalid,
            text: format!("the machine was suspended for {:.3} s during the run", seconds(suspended_ns)),
            fix: "inhibit suspend (systemd-inhibit) and run again".into(),
        });
        stepped.into_iter().chain(suspended).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Clocks = Clocks { realtime_offset_ns: 1_000_000_000_000, boottime_offset_ns: 5_000_000_000 };

    #[test]
    fn a_set_wall_clock_is_told_and_harms_nothing() {
        let after = Clocks { realtime_offset_ns: BEFORE.realtime_offset_ns - 3_600_000_000_000, ..BEFORE };
        let told = BEFORE.changes_until(after);
        assert!(
            matches!(&told[..], [Problem { severity: Severity::Notice, text, .. }] if text.contains("-3600.000 s")),
            "{told:?}"
        );
    }

    #[test]
    fn a_slewed_clock_is_no_news_and_a_suspend_invalidates() {
        let slewed = Clocks { realtime_offset_ns: BEFORE.realtime_offset_ns + 5_000_000, ..BEFORE };
        assert_eq!(BEFORE.changes_until(slewed), []);
        let suspended = Clocks { boottime_offset_ns: BEFORE.boottime_offset_ns + 2_000_000_000, ..BEFORE };
        assert!(matches!(&BEFORE.changes_until(suspended)[..], [Problem { severity: Severity::Invalid, .. }]));
    }
}
