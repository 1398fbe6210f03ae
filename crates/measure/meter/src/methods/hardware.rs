//! `hardware`: what takes the CPU from the kernel itself, looked for from user space where the kernel's hwlat tracer is missing.
//!
//! As that tracer does, a thread reads the clock without pause for a part of each period; a sample is the largest gap between two
//! reads of a period. The tracer does so with interrupts off, which a program cannot: interrupts and more urgent tasks are in the
//! gaps as well, and the ledger of a late sample shows which of them it was, or that it was none.

use super::error::MethodError;
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::hardware::Hardware;
use archive::method::state::Obstacle;
use std::path::Path;

struct Sampler {
    width_ns: i64,
    period_ns: i64,
    due_ns: Option<i64>,
}

/// The largest gap between two reads of the clock until an instant: where it starts and where it ends.
fn largest_gap(clock_ns: impl Fn() -> i64, until_ns: i64) -> (i64, i64) {
    let mut last_ns = clock_ns();
    let mut largest = (last_ns, last_ns);
    while last_ns < until_ns {
        let now_ns = clock_ns();
        if now_ns - last_ns > largest.1 - largest.0 {
            largest = (last_ns, now_ns);
        }
        last_ns = now_ns;
    }
    largest
}

impl Waiter for Sampler {
    fn wait(&mut self, due_ns: i64) -> Arrival {
        let due_ns = self.due_ns.unwrap_or(due_ns);
        clock::sleep_until_ns(due_ns);
        let (from_ns, until_ns) = largest_gap(clock::monotonic_ns, due_ns + self.width_ns);
        let passed = (clock::monotonic_ns() - due_ns) / self.period_ns + 1;
        self.due_ns = Some(due_ns + passed * self.period_ns);
        Arrival::Busy { from_ns, until_ns }
    }
}

impl MeasuringMethod for Hardware {
    fn obstacles(&self, _root: &Path) -> Vec<Obstacle> {
        Vec::new()
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let period_ns = run.settings.interval_ns as i64;
        let width_ns = period_ns * self.width() as i64 / 100;
        let setup = |cpu: &u32| ThreadSetup::new(*cpu, Sampler { width_ns, period_ns, due_ns: None });
        Ok(run.measured.iter().map(setup).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn the_largest_gap_is_found_wherever_it_is() {
        let instants = [10, 12, 14, 30, 31, 50, 51];
        let at = Cell::new(0);
        let clock_ns = || {
            at.set(at.get() + 1);
            instants[at.get() - 1]
        };
        assert_eq!(largest_gap(clock_ns, 50), (31, 50));
    }
}
