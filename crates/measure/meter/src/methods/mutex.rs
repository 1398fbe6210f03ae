//! `mutex`: from unlocking a mutex until the thread that waits for it has it. What ptsematest asks, with a mutex that is unlocked
//! by the thread that locked it.
//!
//! ```text
//! partner           holds it · · · sleeps · clock, unlock ┐       lock · ready
//! measuring thread  lock: waits ···························└▶ has it, clock · unlock · answered
//! ```
//!
//! Two semaphores keep the order outside of the sample: the partner locks again only after the measuring thread has unlocked,
//! and that one asks for the mutex only when the partner holds it. [`requested`] is the order in which ptsematest goes.

mod requested;

use super::error::MethodError;
use super::stimulus::{self, PartnerPlace, Post, Receive, Received};
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::mutex::RawMutex;
use crate::kernel::semaphore::PosixSemaphore;
use archive::method::mutex::Mutex;
use archive::method::state::Obstacle;
use archive::method::{Method, Protocol, Rounds};
use std::io;
use std::path::Path;
use std::sync::Arc;

struct HandOver {
    mutex: RawMutex,
    /// The partner holds the mutex.
    ready: PosixSemaphore,
    /// The measuring thread has unlocked it.
    answered: PosixSemaphore,
}

impl HandOver {
    fn new(inherits_priority: bool) -> io::Result<Self> {
        Ok(Self {
            mutex: RawMutex::new(inherits_priority)?,
            ready: PosixSemaphore::new()?,
            answered: PosixSemaphore::new()?,
        })
    }
}

impl Post for HandOver {
    fn prepare(&self) {
        self.mutex.lock();
        self.ready.post();
    }

    #[inline]
    fn post(&self) {
        self.mutex.unlock();
        self.answered.wait();
        self.mutex.lock();
        self.ready.post();
    }

    fn end(&self) {
        self.mutex.unlock();
    }

    /// Nothing but the partner may unlock it, and that ends with the next period.
    fn release(&self) {
        self.ready.post();
    }
}

/// The side that waits for the mutex.
struct Heir {
    hand_over: Arc<HandOver>,
    holds: bool,
}

impl Heir {
    fn give_back(&mut self) {
        if std::mem::take(&mut self.holds) {
            self.hand_over.mutex.unlock();
            self.hand_over.answered.post();
        }
    }
}

impl Receive for Heir {
    #[inline]
    fn receive(&mut self) -> Received {
        self.give_back();
        self.hand_over.ready.wait();
        self.hand_over.mutex.lock();
        self.holds = true;
        Received::Stimulus
    }
}

impl Drop for Heir {
    fn drop(&mut self) {
        self.give_back();
        self.hand_over.answered.post();
    }
}

impl MeasuringMethod for Mutex {
    fn obstacles(&self, _root: &Path) -> Vec<Obstacle> {
        Vec::new()
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let inherits_priority = self.protocol() == Protocol::Inherit;
        let setup = |cpu: &u32| {
            let refused = |source| MethodError::Refused { method: Method::Mutex, action: "make a mutex", source };
            let place = PartnerPlace::of(run, *cpu, self.partner()).with(self.caches());
            if self.rounds() == Rounds::Requested {
                return requested::setup(run, *cpu, place, inherits_priority).map_err(refused);
            }
            let hand_over = Arc::new(HandOver::new(inherits_priority).map_err(refused)?);
            Ok(stimulus::setup(*cpu, place, hand_over.clone(), Heir { hand_over, holds: false }))
        };
        run.measured.iter().map(setup).collect()
    }
}
