//! `noise`: a thread reads the clock without pause; a sample is the time between two reads. oslat's method.

use super::error::MethodError;
use super::{MeasuringMethod, Site, Station};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, MethodRequest};
use archive::settings::Policy;
use std::path::Path;

pub struct Noise;

struct Busy {
    last_ns: Option<i64>,
}

impl Waiter for Busy {
    #[inline]
    fn wait(&mut self, due_ns: i64) -> Arrival {
        let from_ns = match self.last_ns {
            Some(last_ns) => last_ns,
            // It settles as every thread does.
            None => {
                clock::sleep_until_ns(due_ns);
                clock::monotonic_ns()
            }
        };
        let until_ns = clock::monotonic_ns();
        self.last_ns = Some(until_ns);
        Arrival::Busy { from_ns, until_ns }
    }

    fn marked(&mut self) {
        self.last_ns = Some(clock::monotonic_ns());
    }
}

impl MeasuringMethod for Noise {
    fn obstacles(&self, _root: &Path, _request: Option<&MethodRequest>) -> Vec<Obstacle> {
        Vec::new()
    }

    fn scheduling(&self, request: &MethodRequest) -> Option<(Policy, u8)> {
        (!request.is_set("rt")).then_some((Policy::Other, 0))
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let realtime = site.request().is_set("rt");
        if realtime && site.measured.len() >= site.allowed.len() {
            let obstacle = Obstacle {
                kind: ObstacleKind::Cpus,
                text: "with `rt` its threads leave no CPU to the rest of the system".into(),
                fix: "measure on some CPUs only (--cpus), or leave out rt".into(),
            };
            return Err(MethodError::Impossible { method: Method::Noise, obstacles: vec![obstacle] });
        }
        let station = |cpu: &u32| Station {
            scheduling: self.scheduling(site.request()),
            ..Station::new(*cpu, Busy { last_ns: None })
        };
        Ok(site.measured.iter().map(station).collect())
    }
}
