//! The threads that a request names, by whatever it names them.

use super::process_looks::ProcessLooks;
use super::start;
use super::targets::{self, ThreadFound};
use crate::kernel::clock;
use crate::problem::MeterProblem;
use crate::watch::membership::Members;
use archive::watched::WatchSettings;
use wakeups::pattern::Pattern;

/// Whom to watch.
pub enum Selection {
    /// A process with its descendants; `ours` is held back until everything is armed.
    Process { pid: i32, ours: bool },
    /// Threads of any process by their name.
    Named { pattern: Pattern, name: String, looks: ProcessLooks },
    /// The processes of a control group.
    Group { members: Members, looks: ProcessLooks },
    /// Threads of any process with a real-time or deadline policy.
    RealTime { looks: ProcessLooks },
}

impl Selection {
    /// # Errors
    /// The request names nothing, or what no thread can be called.
    pub fn of(request: &WatchSettings) -> Result<Self, MeterProblem> {
        let looks = ProcessLooks::of(request.guard.is_some());
        match (request.pid, &request.comm, &request.group) {
            (Some(pid), ..) => Ok(Self::Process { pid, ours: request.ours }),
            (_, Some(name), _) => Ok(Self::Named { pattern: Pattern::new(name)?, name: name.clone(), looks }),
            (_, _, Some(group)) => Ok(Self::Group { members: Members::of(group.clone()), looks }),
            _ if request.real_time => Ok(Self::RealTime { looks }),
            _ => Err(MeterProblem::NothingToWatch),
        }
    }

    /// The names that a thread must have to be watched.
    pub fn pattern(&self) -> Option<&Pattern> {
        if let Self::Named { pattern, .. } = self { Some(pattern) } else { None }
    }

    /// The process that ends the watch with its own end. Threads of a name and of a group may appear again at any time.
    pub fn only_process(&self) -> Option<i32> {
        if let Self::Process { pid, .. } = self { Some(*pid) } else { None }
    }

    /// The threads at this moment.
    pub fn threads(&mut self) -> Vec<ThreadFound> {
        match self {
            Self::Process { pid, .. } => targets::threads_below(*pid),
            Self::Named { pattern, looks, .. } => {
                let matching = |pid| {
                    let threads = targets::threads_of(pid).into_iter();
                    threads.filter(|found| pattern.fits(found.name.as_bytes())).collect()
                };
                looks.threads(clock::monotonic_ns(), matching)
            }
            Self::Group { members, looks } => looks.threads(clock::monotonic_ns(), |pid| members.threads(pid)),
            Self::RealTime { looks } => looks.threads(clock::monotonic_ns(), targets::real_time_threads_of),
        }
    }

    /// The threads that exist at the beginning; a guard waits for the first one, unless it is named by its process.
    ///
    /// # Errors
    /// There is none.
    pub fn first_threads(&mut self, guard: bool) -> Result<Vec<ThreadFound>, MeterProblem> {
        if let Self::Process { pid, ours: true } = self {
            start::await_stop(*pid)?;
        }
        let threads = self.threads();
        let waits = guard && self.only_process().is_none();
        if threads.is_empty() && !waits { Err(self.absent()) } else { Ok(threads) }
    }

    fn absent(&self) -> MeterProblem {
        match self {
            Self::Process { pid, .. } => MeterProblem::NoProcess { pid: *pid },
            Self::Named { name, .. } => MeterProblem::NoSuchThread { name: name.clone() },
            Self::Group { members, .. } => MeterProblem::NoProcessInGroup { group: members.whom() },
            Self::RealTime { .. } => MeterProblem::NothingToWatch,
        }
    }
}
