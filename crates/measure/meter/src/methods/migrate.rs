//! `migrate`: whether the N most urgent of more than N threads run at once on N CPUs. rt-migrate-test's question.
//!
//! One thread more than there are CPUs wakes at the same instant, none bound to a CPU and each a priority below the one before.
//! Each works for a while. A sample is how late one of the N most urgent starts: the kernel must move it to another CPU when the
//! one where it woke is taken by a more urgent one. With `wake=call` a thread more urgent than all of them wakes them: [`called`].

mod called;

use super::error::MethodError;
use super::stimulus::Pace;
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::clock;
use crate::kernel::sleep::timer;
use crate::measure::partner::{Partner, PartnerContext};
use crate::measure::waiter::{Arrival, Waiter};
use archive::method::migrate::{Migrate, Wake};
use archive::method::state::Obstacle;
use archive::settings::Policy;
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;

struct Worker {
    work_ns: i64,
    works_until_ns: i64,
}

/// Keeps the CPU.
fn work_until(until_ns: i64) {
    while clock::monotonic_ns() < until_ns {
        std::hint::spin_loop();
    }
}

impl Waiter for Worker {
    fn wait(&mut self, due_ns: i64) -> Arrival {
        work_until(self.works_until_ns);
        let seen_ns = timer::wake_at(due_ns);
        self.works_until_ns = seen_ns.saturating_add(self.work_ns);
        Arrival::Due { seen_ns }
    }
}

/// The least urgent thread: it must not run while a more urgent one waits.
fn compete(context: &PartnerContext, work_ns: i64) {
    let mut pace = Pace::new(context.schedule);
    while pace.due_ns < context.schedule.end_ns && !context.stop.load(Relaxed) {
        work_until(timer::wake_at(pace.due_ns).saturating_add(work_ns));
        pace.advance(clock::monotonic_ns());
    }
}

/// A measuring thread on any CPU.
fn urgent(cpu: u32, worker: impl Waiter + 'static) -> ThreadSetup {
    ThreadSetup { pinned: Some(false), together: true, ..ThreadSetup::new(cpu, worker) }
}

fn less_urgent(run: &RunContext, by: usize) -> (Policy, u8) {
    run.less_urgent(u8::try_from(by).unwrap_or(u8::MAX))
}

fn scheduling_of(run: &RunContext, by: usize) -> Option<(Policy, u8)> {
    (run.settings.policy != Policy::Deadline).then(|| less_urgent(run, by))
}

impl MeasuringMethod for Migrate {
    fn obstacles(&self, _root: &Path) -> Vec<Obstacle> {
        Vec::new()
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let work_ns = self.work() as i64 * 1_000;
        if self.wake() == Wake::Call {
            return Ok(called::setups(run, work_ns));
        }
        let setup = |(at, cpu): (usize, &u32)| {
            let worker = Worker { work_ns, works_until_ns: i64::MIN };
            ThreadSetup { scheduling: scheduling_of(run, at), ..urgent(*cpu, worker) }
        };
        let mut setups: Vec<ThreadSetup> = run.allowed.iter().enumerate().map(setup).collect();
        let (policy, priority) = less_urgent(run, run.allowed.len());
        if let Some(first) = setups.first_mut() {
            first.partners.push(Partner {
                name: "tardy-least".into(),
                cpus: Vec::new(),
                policy,
                priority,
                body: Box::new(move |context| compete(&context, work_ns)),
            });
        }
        Ok(setups)
    }
}
