//! `timer`: the thread sleeps until an instant. cyclictest's method.

use super::error::MethodError;
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::sleep::timer;
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::state::Obstacle;
use archive::method::timer::Timer;
use std::path::Path;

struct Sleeper;

impl Waiter for Sleeper {
    #[inline]
    fn wait(&mut self, due_ns: i64) -> Arrival {
        Arrival::Due { seen_ns: timer::wake_at(due_ns) }
    }
}

impl MeasuringMethod for Timer {
    fn obstacles(&self, _root: &Path) -> Vec<Obstacle> {
        Vec::new()
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        Ok(run.measured.iter().map(|cpu| ThreadSetup::new(*cpu, Sleeper)).collect())
    }
}
