//! `signal`: from `tgkill` until the thread in `sigwaitinfo` runs. The method of sigwaittest, and one hop of signaltest's ring.

use super::error::MethodError;
use super::stimulus::{self, PartnerPlace, Post, Receive, Received, Requested};
use super::{MeasuringMethod, RunContext, ThreadSetup};
use crate::journal::Journal;
use crate::kernel::thread_signal::{self, Address};
use archive::method::Rounds;
use archive::method::signal::{Call, Signal};
use archive::method::state::Obstacle;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// The thread to signal, once it is known, and how.
struct Recipient {
    address: OnceLock<Address>,
    send: fn(Address),
}

impl Recipient {
    fn new(call: Call) -> Self {
        let send = match call {
            Call::PthreadKill => thread_signal::send_as_pthread_kill,
            Call::Tgkill => thread_signal::send,
        };
        Self { address: OnceLock::new(), send }
    }
}

impl Post for Recipient {
    #[inline]
    fn post(&self) {
        if let Some(address) = self.address.get() {
            (self.send)(*address);
        }
    }
}

impl Receive for Arc<Recipient> {
    fn prepare(&mut self) -> io::Result<()> {
        let _ = self.address.set(thread_signal::block()?);
        Ok(())
    }

    #[inline]
    fn receive(&mut self) -> Received {
        if thread_signal::wait() { Received::Stimulus } else { Received::Broken }
    }
}

impl MeasuringMethod for Signal {
    fn obstacles(&self, _root: &Path) -> Vec<Obstacle> {
        Vec::new()
    }

    fn open(&self, run: &RunContext, _journal: &mut Journal) -> Result<Vec<ThreadSetup>, MethodError> {
        let setup = |cpu: &u32| {
            let recipient = Arc::new(Recipient::new(self.call()));
            let place = PartnerPlace::of(run, *cpu, self.partner()).with(self.caches());
            match self.rounds() {
                Rounds::Requested => {
                    let request = Arc::new(Recipient::new(self.call()));
                    stimulus::requested_setup(run, *cpu, place, Requested::by(recipient, request))
                }
                Rounds::Scheduled => stimulus::setup(*cpu, place, recipient.clone(), recipient),
            }
        };
        Ok(run.measured.iter().map(setup).collect())
    }
}
