//! The hand-over that the measuring thread requests by unlocking a second mutex, for which the partner waits.
//!
//! ```text
//! partner           lock request: waits · · ┌▶ has it · clock, unlock ┐ waits
//! measuring thread  sleeps · unlock request ┘  lock: waits ···········└▶ has it, clock
//! ```
//!
//! After the sample each thread takes back its mutex, in an order that two flags keep, before the measuring thread sleeps.

use super::super::stimulus::{self, PartnerPlace, Post, Receive, Received, Requested};
use super::super::{RunContext, ThreadSetup};
use crate::kernel::mutex::RawMutex;
use crate::kernel::wait_flag::WaitFlag;
use std::io;
use std::mem;
use std::sync::Arc;

struct Mutexes {
    /// The partner holds it between two rounds.
    stimulus: RawMutex,
    /// The measuring thread holds it between two rounds.
    request: RawMutex,
    /// The measuring thread has unlocked the one, or locked the other.
    returned: WaitFlag,
    /// The partner holds the one again, and not the other.
    ready: WaitFlag,
}

/// The partner's call that is measured.
struct Unlock(Arc<Mutexes>);

impl Post for Unlock {
    fn prepare(&self) {
        self.0.stimulus.lock();
    }

    #[inline]
    fn post(&self) {
        self.0.stimulus.unlock();
        self.0.returned.wait();
        self.0.request.unlock();
        self.0.stimulus.lock();
        self.0.ready.set();
        self.0.returned.wait();
    }

    /// The partner answers each request, so nothing waits for ever.
    fn release(&self) {}
}

struct Lock {
    mutexes: Arc<Mutexes>,
    holds: bool,
}

impl Receive for Lock {
    fn prepare(&mut self) -> io::Result<()> {
        self.mutexes.request.lock();
        Ok(())
    }

    fn give_back(&mut self) {
        if mem::take(&mut self.holds) {
            self.mutexes.stimulus.unlock();
            self.mutexes.returned.set();
            self.mutexes.ready.wait();
            self.mutexes.request.lock();
            self.mutexes.returned.set();
        }
    }

    #[inline]
    fn receive(&mut self) -> Received {
        self.mutexes.stimulus.lock();
        self.holds = true;
        Received::Stimulus
    }
}

/// The measuring thread's request.
struct Request(Arc<Mutexes>);

impl Post for Request {
    #[inline]
    fn post(&self) {
        self.0.request.unlock();
    }
}

/// The partner's wait for it.
struct Asked {
    mutexes: Arc<Mutexes>,
    asked: bool,
}

impl Receive for Asked {
    #[inline]
    fn receive(&mut self) -> Received {
        self.mutexes.request.lock();
        self.asked = true;
        Received::Stimulus
    }

    /// The end: a mutex must not be destroyed while it is locked.
    fn give_back(&mut self) {
        if mem::take(&mut self.asked) {
            self.mutexes.request.unlock();
            self.mutexes.stimulus.unlock();
        }
    }
}

pub fn setup(run: &RunContext, cpu: u32, place: PartnerPlace, inherits_priority: bool) -> io::Result<ThreadSetup> {
    let mutexes = Arc::new(Mutexes {
        stimulus: RawMutex::new(inherits_priority)?,
        request: RawMutex::new(inherits_priority)?,
        returned: WaitFlag::default(),
        ready: WaitFlag::default(),
    });
    let hand_over = Requested {
        post: Arc::new(Unlock(mutexes.clone())),
        receive: Lock { mutexes: mutexes.clone(), holds: false },
        request: Arc::new(Request(mutexes.clone())),
        asked: Asked { mutexes, asked: false },
    };
    Ok(stimulus::requested_setup(run, cpu, place, hand_over))
}
