//! The helpers of the measuring threads: started with them, and looked after like them.

use crate::measure::cycle::Schedule;
use crate::measure::helper::{self, Helper};
use crate::measure::start_instant::StartInstant;
use crate::problem::MeterProblem;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

struct Started {
    /// CPU of the measuring thread it works for.
    cpu: u32,
    handle: Option<JoinHandle<()>>,
}

/// All helpers of a run.
#[derive(Default)]
pub struct Helpers {
    started: Vec<Started>,
    tids: Vec<i32>,
}

impl Helpers {
    /// Starts the helpers of one measuring thread and waits until each is set up.
    ///
    /// # Errors
    /// A helper that could not be started or set up.
    pub fn start(
        &mut self,
        cpu: u32,
        helpers: Vec<Helper>,
        schedule: Schedule,
        start: &Arc<StartInstant>,
        stop: &Arc<AtomicBool>,
    ) -> Result<(), MeterProblem> {
        for helper in helpers {
            let (ready, answers) = channel();
            let handle =
                helper::spawn(helper, schedule, start.clone(), stop.clone(), ready).map_err(MeterProblem::Thread)?;
            self.started.push(Started { cpu, handle: Some(handle) });
            let answer = answers.recv().map_err(|_| MeterProblem::HelperDied { cpu })?;
            self.tids.push(answer.map_err(|source| MeterProblem::HelperSetUp { cpu, source })?);
        }
        Ok(())
    }

    pub fn tids(&self) -> &[i32] {
        &self.tids
    }

    /// CPUs whose helpers ended by a panic since the last call.
    pub fn died(&mut self) -> Vec<u32> {
        let ended = |one: &mut Started| one.handle.take_if(|handle| handle.is_finished());
        let died = |one: &mut Started| ended(one).is_some_and(|handle| handle.join().is_err()).then_some(one.cpu);
        self.started.iter_mut().filter_map(died).collect()
    }
}
