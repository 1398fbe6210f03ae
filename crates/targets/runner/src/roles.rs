//! Keeps the runs of one measurement in step, each of which is on another machine and in another thread.
//!
//! Machines are prepared at the same time. Then the run that answers starts, and the next one when the one before measures. They
//! end in the opposite order: a run that is needed by a later one goes on until that one has measured. When one ends early, all
//! others end.

pub mod problem;

use archive::roles::{RoleFigures, RunRole};
use machines::stop::StopRequests;
use problem::RoleProblem;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Interval of checks for stop requests.
const LOOK: Duration = Duration::from_millis(100);

/// How far a run got.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Preparing,
    Prepared,
    Measuring,
    /// It measures no longer, and may still collect.
    Measured,
    Over,
}

struct Member {
    role: RunRole,
    target: String,
    stage: Stage,
    /// Why it is over, if it failed without an archive.
    failure: Option<String>,
    figures: Option<RoleFigures>,
}

struct Shared {
    /// In the order in which they start.
    members: Mutex<Vec<Member>>,
    changed: Condvar,
}

impl Shared {
    fn members(&self) -> MutexGuard<'_, Vec<Member>> {
        self.members.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An action of a run because of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Others {
    /// Go on.
    Measure,
    /// A run that needs this one has measured, or failed.
    AreDone,
    /// A run that this one needs measures no longer.
    AreMissing,
}

/// One run of several. Dropped, it is over for the others.
pub struct Part {
    shared: Arc<Shared>,
    index: usize,
}

/// A part for each machine, in the order in which they are to start: the one that answers first.
pub fn parts<'a>(machines: impl IntoIterator<Item = (RunRole, &'a str)>) -> Vec<Part> {
    let member = |(role, target): (RunRole, &str)| Member {
        role,
        target: target.into(),
        stage: Stage::Preparing,
        failure: None,
        figures: None,
    };
    let members: Vec<Member> = machines.into_iter().map(member).collect();
    let count = members.len();
    let shared = Arc::new(Shared { members: Mutex::new(members), changed: Condvar::new() });
    (0..count).map(|index| Part { shared: shared.clone(), index }).collect()
}

impl Part {
    pub fn role(&self) -> RunRole {
        self.shared.members()[self.index].role
    }

    /// Says that the machine is ready, and waits until all are and the runs before this one measure.
    ///
    /// # Errors
    /// If another run is over by then, or the user stopped the measurement.
    pub fn wait_for_its_turn(&self, stop: &StopRequests) -> Result<(), RoleProblem> {
        self.reach(Stage::Prepared);
        let mut members = self.shared.members();
        loop {
            let others = || members.iter().enumerate().filter(|(index, _)| *index != self.index);
            let over = others()
                .find(|(index, one)| one.stage == Stage::Over || (*index < self.index && one.stage == Stage::Measured));
            if let Some((_, Member { role, target, failure, .. })) = over {
                return Err(RoleProblem::NotStarted { role: *role, target: target.clone(), why: failure.clone() });
            }
            if stop.count() > 0 {
                return Err(RoleProblem::Stopped);
            }
            let needed = |index: usize| if index < self.index { Stage::Measuring } else { Stage::Prepared };
            if others().all(|(index, one)| one.stage >= needed(index)) {
                return Ok(());
            }
            let waited = self.shared.changed.wait_timeout(members, LOOK);
            members = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// The run measures.
    pub fn measures(&self) {
        self.reach(Stage::Measuring);
    }

    /// The run measures no longer.
    pub fn has_measured(&self) {
        self.reach(Stage::Measured);
    }

    /// The run failed and has no archive.
    pub fn has_failed(&self, why: String) {
        self.shared.members()[self.index].failure = Some(why);
        self.reach(Stage::Over);
    }

    /// The action of this run because of the others.
    pub fn others(&self) -> Others {
        let members = self.shared.members();
        let (before, rest) = members.split_at(self.index);
        let measures_no_longer = |one: &Member| one.stage >= Stage::Measured;
        if before.iter().any(measures_no_longer) {
            Others::AreMissing
        } else if rest.iter().skip(1).any(measures_no_longer) {
            Others::AreDone
        } else {
            Others::Measure
        }
    }

    /// Whether a later run needs this one to go on.
    pub fn is_needed(&self) -> bool {
        let members = self.shared.members();
        let later = &members[self.index + 1..];
        !later.is_empty() && later.iter().all(|one| one.stage < Stage::Measured)
    }

    /// Says what this run has measured, waits until each of the others is over, and returns their figures.
    pub fn exchange(&self, figures: RoleFigures) -> Vec<RoleFigures> {
        self.shared.members()[self.index].figures = Some(figures);
        self.reach(Stage::Over);
        let mut members = self.shared.members();
        while members.iter().any(|one| one.stage < Stage::Over) {
            members = self.shared.changed.wait(members).unwrap_or_else(PoisonError::into_inner);
        }
        let others = members.iter().enumerate().filter(|(index, _)| *index != self.index);
        others.filter_map(|(_, one)| one.figures.clone()).collect()
    }

    /// Why another run has no archive: role, machine, reason.
    pub fn failure_of_another(&self) -> Option<(RunRole, String, String)> {
        let members = self.shared.members();
        let others = members.iter().enumerate().filter(|(index, _)| *index != self.index);
        others.filter_map(|(_, one)| Some((one.role, one.target.clone(), one.failure.clone()?))).next()
    }

    fn reach(&self, stage: Stage) {
        let mut members = self.shared.members();
        let member = &mut members[self.index];
        member.stage = member.stage.max(stage);
        self.shared.changed.notify_all();
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.reach(Stage::Over);
    }
}

#[cfg(test)]
mod tests;
