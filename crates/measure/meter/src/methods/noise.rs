//! `noise`: a thread reads the clock without pause; a sample is the time between two reads. oslat's method.

use super::error::MethodError;
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::Method;
use archive::method::noise::Noise;
use archive::method::state::{Obstacle, ObstacleKind};
use archive::settings::Policy;
use std::path::Path;

struct Busy {
    last_ns: Option<i64>,
    /// The shortest mark in the trace so far: what one costs by itself.
    mark_ns: i64,
}

impl Default for Busy {
    fn default() -> Self {
        Self { last_ns: None, mark_ns: i64::MAX }
    }
}

impl Busy {
    /// A mark is no noise, but what interrupts it is: the next sample has it, without what the mark cost. A mark in cold caches
    /// takes longer, too, so up to twice the shortest one is no interruption.
    fn resume(&mut self, now_ns: i64) {
        let from_ns = self.last_ns.unwrap_or(now_ns);
        let took_ns = now_ns - from_ns;
        self.mark_ns = self.mark_ns.min(took_ns);
        let is_interrupted = took_ns > self.mark_ns.saturating_mul(2);
        self.last_ns = Some(if is_interrupted { from_ns + self.mark_ns } else { now_ns });
    }
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
        self.resume(clock::monotonic_ns());
    }
}

impl MeasuringMethod for Noise {
    fn obstacles(&self, _root: &Path) -> Vec<Obstacle> {
        Vec::new()
    }

    fn scheduling(&self) -> Option<(Policy, u8)> {
        (!self.rt()).then_some((Policy::Other, 0))
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        if self.rt() && run.measured.len() >= run.allowed.len() {
            let obstacle = Obstacle {
                kind: ObstacleKind::Cpus,
                text: "with `rt` its threads leave no CPU to the rest of the system".into(),
                fix: "measure on some CPUs only (--cpus), or leave out rt".into(),
            };
            return Err(MethodError::Impossible { method: Method::Noise, obstacles: vec![obstacle] });
        }
        let setup =
            |cpu: &u32| ThreadSetup { scheduling: self.scheduling(), ..ThreadSetup::new(*cpu, Busy::default()) };
        Ok(run.measured.iter().map(setup).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_interrupts_a_mark_is_in_the_next_sample_and_the_mark_is_not() {
        let mut busy = Busy { last_ns: Some(1_000_000), ..Busy::default() };
        let mut from_ns_after = |marked_ns: i64| {
            busy.last_ns = Some(1_000_000);
            busy.resume(1_000_000 + marked_ns);
            busy.last_ns.unwrap() - 1_000_000
        };
        assert_eq!(from_ns_after(9_000), 9_000, "the first one shows what a mark costs");
        assert_eq!(from_ns_after(5_000), 5_000);
        assert_eq!(from_ns_after(10_000), 10_000, "cold caches");
        assert_eq!(from_ns_after(250_000), 5_000, "an interruption of 245 us");
        assert_eq!(Busy::default().mark_ns, i64::MAX);
    }
}
