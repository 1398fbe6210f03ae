//! The partners of the measuring threads: started and supervised like them.

use crate::kernel::scheduling;
use crate::measure::partner::{self, Partner};
use crate::measure::schedule::Schedule;
use crate::measure::start_instant::StartInstant;
use crate::problem::MeterProblem;
use archive::settings::Policy;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

struct Started {
    /// CPU of its measuring thread.
    cpu: u32,
    handle: Option<JoinHandle<()>>,
    tid: i32,
    /// As it was set up; `None` after another program changed it.
    set_up: Option<Scheduling>,
}

/// The scheduling of a thread: policy, priority and CPUs it may run on.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Scheduling {
    policy: (Policy, u8),
    cpus: Vec<u32>,
}

impl Scheduling {
    /// `None` if the thread has ended.
    fn of(tid: i32) -> Option<Self> {
        Some(Self { policy: scheduling::policy_of(tid).ok()?, cpus: scheduling::allowed_cpus(tid).ok()? })
    }
}

/// All partners of a run.
#[derive(Default)]
pub struct Partners {
    started: Vec<Started>,
}

impl Partners {
    /// Starts the partners of one measuring thread and waits until each is set up.
    ///
    /// # Errors
    /// A partner that could not be started or set up.
    pub fn start(
        &mut self,
        cpu: u32,
        partners: Vec<Partner>,
        schedule: Schedule,
        start: &Arc<StartInstant>,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), MeterProblem> {
        for partner in partners {
            let (ready, answers) = channel();
            let handle =
                partner::spawn(partner, schedule, start.clone(), stop.clone(), ready).map_err(MeterProblem::Thread)?;
            let answer = answers.recv().map_err(|_| MeterProblem::PartnerDied { cpu })?;
            let tid = answer.map_err(|source| MeterProblem::PartnerSetUp { cpu, source })?;
            self.started.push(Started { cpu, handle: Some(handle), tid, set_up: Scheduling::of(tid) });
        }
        Ok(())
    }

    pub fn tids(&self) -> Vec<i32> {
        self.started.iter().map(|one| one.tid).collect()
    }

    /// CPUs whose partners another program has moved or given another policy or priority; each is named once.
    pub fn changed(&mut self) -> Vec<u32> {
        let changed = |one: &mut Started| {
            let now = one.handle.is_some().then(|| Scheduling::of(one.tid)).flatten()?;
            one.set_up.take_if(|set_up| *set_up != now).map(|_| one.cpu)
        };
        self.started.iter_mut().filter_map(changed).collect()
    }

    /// CPUs whose partners have panicked since the last call.
    pub fn died(&mut self) -> Vec<u32> {
        let ended = |one: &mut Started| one.handle.take_if(|handle| handle.is_finished());
        let died = |one: &mut Started| ended(one).is_some_and(|handle| handle.join().is_err()).then_some(one.cpu);
        self.started.iter_mut().filter_map(died).collect()
    }
}
