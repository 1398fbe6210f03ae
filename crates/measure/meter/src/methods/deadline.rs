//! `deadline`: how late a SCHED_DEADLINE thread is given the CPU in each of its periods. cyclicdeadline's method.
//!
//! The thread gives the rest of its runtime up with `sched_yield`, which returns at the start of its next period. The kernel
//! does not show when that is, so the earliest start seen so far marks it: latencies are against the most punctual period.

use super::error::MethodError;
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::{clock, scheduling};
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::deadline::Deadline;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::settings::Policy;
use std::io;
use std::path::Path;

/// Periods before the first sample, in which the thread finds its place.
const FIRST_PERIODS: u32 = 4;

struct Yielding {
    period_ns: i64,
    /// When the current period started.
    started_ns: Option<i64>,
}

/// The next start of a period after this instant.
fn next_period(before_ns: i64, period_ns: i64) -> i64 {
    loop {
        std::thread::yield_now();
        let now_ns = clock::monotonic_ns();
        if now_ns - before_ns > period_ns / 2 {
            return now_ns;
        }
    }
}

impl Yielding {
    /// The period that a thread seen at this instant is in, and how many it missed.
    fn seen(&mut self, before_ns: i64, seen_ns: i64) -> Arrival {
        let passed = (seen_ns - before_ns + self.period_ns / 2) / self.period_ns;
        let expected_ns = before_ns + passed.max(1) * self.period_ns;
        let given_ns = expected_ns.min(seen_ns);
        self.started_ns = Some(given_ns);
        Arrival::Stimulus { given_ns, seen_ns, skipped: (passed - 1).max(0) as u64 }
    }
}

impl Waiter for Yielding {
    /// A thread of another class would yield to nothing and measure nothing.
    fn prepare(&mut self) -> io::Result<()> {
        match scheduling::policy_of(0)? {
            (Policy::Deadline, _) => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::PermissionDenied, "the kernel did not admit it to SCHED_DEADLINE")),
        }
    }

    fn wait(&mut self, _due_ns: i64) -> Arrival {
        let next = |before_ns| next_period(before_ns, self.period_ns);
        let first = || (0..FIRST_PERIODS).fold(clock::monotonic_ns(), |before_ns, _| next(before_ns));
        let before_ns = self.started_ns.unwrap_or_else(first);
        let seen_ns = next(before_ns);
        self.seen(before_ns, seen_ns)
    }
}

impl MeasuringMethod for Deadline {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        // Since Linux 3.14; the parameters of the class are there since 5.8.
        let release = std::fs::read_to_string(root.join("proc/sys/kernel/osrelease")).unwrap_or_default();
        let mut numbers = release.split(['.', '-']).map_while(|part| part.trim().parse::<u32>().ok());
        let version = (numbers.next(), numbers.next());
        if !matches!(version, (Some(major), Some(minor)) if (major, minor) < (3, 14)) {
            return Vec::new();
        }
        vec![Obstacle {
            kind: ObstacleKind::Kernel,
            text: "the kernel has no SCHED_DEADLINE".into(),
            fix: "use Linux 3.14 or later".into(),
        }]
    }

    fn scheduling(&self) -> Option<(Policy, u8)> {
        Some((Policy::Deadline, 0))
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let setup = |cpu: &u32| {
            let waiter = Yielding { period_ns: run.settings.interval_ns as i64, started_ns: None };
            // The kernel refuses to bind deadline threads.
            ThreadSetup { pinned: Some(false), scheduling: self.scheduling(), ..ThreadSetup::new(*cpu, waiter) }
        };
        Ok(run.measured.iter().map(setup).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_starts_count_from_the_earliest_and_lost_periods_are_missed() {
        let mut yielding = Yielding { period_ns: 1_000_000, started_ns: None };
        let stimulus = |given_ns, seen_ns, skipped| Arrival::Stimulus { given_ns, seen_ns, skipped };
        assert_eq!(yielding.seen(5_000_000, 6_030_000), stimulus(6_000_000, 6_030_000, 0));
        assert_eq!(yielding.seen(6_000_000, 6_990_000), stimulus(6_990_000, 6_990_000, 0), "the grid moves");
        assert_eq!(yielding.seen(6_990_000, 10_000_000), stimulus(9_990_000, 10_000_000, 2));
        assert_eq!(yielding.started_ns, Some(9_990_000));
    }
}
