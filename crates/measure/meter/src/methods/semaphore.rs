//! `semaphore`: from a post until the waiting thread runs. svsematest's method, and the same with POSIX semaphores.

use super::error::MethodError;
use super::stimulus::{self, PartnerPlace, Post, Receive, Received, Requested};
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::{Entry, Journal};
use crate::kernel::semaphore::{PosixSemaphore, SysvSemaphore};
use archive::method::semaphore::{Kind, Semaphore};
use archive::method::state::{Obstacle, ObstacleKind};
use archive::method::{Method, Rounds};
use std::io;
use std::path::Path;
use std::sync::Arc;

impl Post for PosixSemaphore {
    fn post(&self) {
        PosixSemaphore::post(self);
    }
}

impl Receive for Arc<PosixSemaphore> {
    #[inline]
    fn receive(&mut self) -> Received {
        if self.wait() { Received::Stimulus } else { Received::Broken }
    }
}

impl Post for SysvSemaphore {
    fn post(&self) {
        SysvSemaphore::post(self);
    }
}

impl Receive for Arc<SysvSemaphore> {
    #[inline]
    fn receive(&mut self) -> Received {
        if self.wait() { Received::Stimulus } else { Received::Broken }
    }
}

fn refused(source: io::Error) -> MethodError {
    MethodError::Refused { method: Method::Semaphore, action: "make a semaphore", source }
}

fn setups<S>(
    options: &Semaphore,
    run: &RunContext,
    mut semaphore: impl FnMut() -> Result<S, MethodError>,
) -> Result<Vec<ThreadSetup>, MethodError>
where
    S: Post + 'static,
    Arc<S>: Receive,
{
    let mut setups = Vec::new();
    for cpu in run.measured {
        let stimulus = Arc::new(semaphore()?);
        let place = PartnerPlace::of(run, *cpu, options.partner()).with(options.caches());
        setups.push(match options.rounds() {
            Rounds::Requested => {
                let request = Arc::new(semaphore()?);
                stimulus::requested_setup(run, *cpu, place, Requested::by(stimulus, request))
            }
            Rounds::Scheduled => stimulus::setup(*cpu, place, stimulus.clone(), stimulus),
        });
    }
    Ok(setups)
}

impl MeasuringMethod for Semaphore {
    fn obstacles(&self, root: &Path) -> Vec<Obstacle> {
        if self.kind() == Kind::Posix || root.join("proc/sysvipc/sem").exists() {
            return Vec::new();
        }
        vec![Obstacle {
            kind: ObstacleKind::Kernel,
            text: "the kernel has no System V semaphores (CONFIG_SYSVIPC)".into(),
            fix: "use kind=posix".into(),
        }]
    }

    fn open(&self, run: &RunContext, journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        match self.kind() {
            Kind::Sysv => setups(self, run, || {
                let key = SysvSemaphore::unused_key().map_err(refused)?;
                journal.note(Entry::SysvSemaphore { key })?;
                SysvSemaphore::create(key).map_err(refused)
            }),
            Kind::Posix => setups(self, run, || PosixSemaphore::new().map_err(refused)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernel_without_system_v_is_named_only_for_that_kind() {
        let root = tempfile::tempdir().unwrap();
        let sysv = Semaphore { kind: Some(Kind::Sysv), ..Semaphore::default() };
        assert!(Semaphore::default().obstacles(root.path()).is_empty());
        let obstacles = sysv.obstacles(root.path());
        assert_eq!(obstacles.len(), 1);
        assert!(obstacles[0].text.contains("CONFIG_SYSVIPC"));
    }
}
