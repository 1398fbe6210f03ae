//! The partners of the measuring threads: started and supervised like them.

use crate::measure::cycle::Schedule;
use crate::measure::partner::{self, Partner};
use crate::measure::start_instant::StartInstant;
use crate::problem::MeterProblem;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

struct Started {
    /// CPU of its measuring thread.
    cpu: u32,
    handle: Option<JoinHandle<()>>,
}

/// All partners of a run.
#[derive(Default)]
pub struct Partners {
    started: Vec<Started>,
    tids: Vec<i32>,
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
            self.started.push(Started { cpu, handle: Some(handle) });
            let answer = answers.recv().map_err(|_| MeterProblem::PartnerDied { cpu })?;
            self.tids.push(answer.map_err(|source| MeterProblem::PartnerSetUp { cpu, source })?);
        }
        Ok(())
    }

    pub fn tids(&self) -> &[i32] {
        &self.tids
    }

    /// CPUs whose partners have panicked since the last call.
    pub fn died(&mut self) -> Vec<u32> {
        let ended = |one: &mut Started| one.handle.take_if(|handle| handle.is_finished());
        let died = |one: &mut Started| ended(one).is_some_and(|handle| handle.join().is_err()).then_some(one.cpu);
        self.started.iter_mut().filter_map(died).collect()
    }
}
