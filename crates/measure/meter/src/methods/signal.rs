//! `signal`: from `tgkill` until the thread in `sigwaitinfo` runs. The method of sigwaittest, and one hop of signaltest's ring.

use super::error::MethodError;
use super::stimulus::{self, PartnerPlace, Post, Receive, Received, Requested};
use super::{MeasuringMethod, Site, Station};
use crate::journal::Journal;
use crate::kernel::thread_signal::{self, Address};
use archive::method::MethodRequest;
use archive::method::state::Obstacle;
use std::io;
use std::path::Path;
use std::sync::{Arc, OnceLock};

pub struct Signal;

/// The thread to signal, once it is known, and how.
struct Recipient {
    address: OnceLock<Address>,
    send: fn(Address),
}

impl Recipient {
    fn of(request: &MethodRequest) -> Self {
        let send = match request.value("call") {
            Some("pthread_kill") => thread_signal::send_as_pthread_kill,
            _ => thread_signal::send,
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
    fn obstacles(&self, _root: &Path, _request: Option<&MethodRequest>) -> Vec<Obstacle> {
        Vec::new()
    }

    fn open(&self, site: &Site, _journal: &mut Journal) -> Result<Vec<Station>, MethodError> {
        let station = |cpu: &u32| {
            let recipient = Arc::new(Recipient::of(site.request()));
            if stimulus::requests(site.request()) {
                return stimulus::requested_station(
                    site,
                    *cpu,
                    Requested::by(recipient, Arc::new(Recipient::of(site.request()))),
                );
            }
            let place = PartnerPlace::of(site, *cpu);
            stimulus::station(*cpu, place, recipient.clone(), recipient)
        };
        Ok(site.measured.iter().map(station).collect())
    }
}
