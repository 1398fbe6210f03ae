//! `timer`: the thread sleeps until an instant. cyclictest's method.

use super::error::MethodError;
use super::{MeasuringMethod, Site, Station};
use crate::journal::Journal;
use crate::kernel::sleep::timer;
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::MethodRequest;
use archive::method::state::Obstacle;
use std::path::Path;

pub struct Timer;

struct Sleeper;

impl Waiter for Sleeper {
    #[inline]
    fn wait(&mut self, due_ns: i64) -> Arrival {
        Arrival::Due { seen_ns: timer::wake_at(due_ns) }
    }
}

impl MeasuringMethod for Timer {
    fn obstacles(&self, _root: &Path, _request: Option<&MethodRequest>) -> Vec<Obstacle> {
        Vec::new()
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        Ok(site.measured.iter().map(|cpu| Station::new(*cpu, Sleeper)).collect())
    }
}
