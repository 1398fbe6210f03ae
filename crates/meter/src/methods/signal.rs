//! `signal`: from `tgkill` until the thread in `sigwaitinfo` runs. The method of sigwaittest, and one hop of signaltest's ring.

use super::error::MethodError;
use super::stimulus::{self, PartnerPlace, Post, Receive, Received, Requested};
use super::{MeasuringMethod, Site, Station};
use crate::journal::Journal;
use crate::kernel::thread_signal;
use archive::method::MethodRequest;
use archive::method::state::Obstacle;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

pub struct Signal;

/// The thread to signal; 0 until it is known.
#[derive(Debug, Default)]
struct Recipient(AtomicI32);

impl Post for Recipient {
    #[inline]
    fn post(&self) {
        let tid = self.0.load(Relaxed);
        if tid > 0 {
            thread_signal::send(tid);
        }
    }
}

impl Receive for Arc<Recipient> {
    fn prepare(&mut self) -> io::Result<()> {
        self.0.store(thread_signal::block()?, Relaxed);
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
            let recipient = Arc::new(Recipient::default());
            if stimulus::requests(site.request()) {
                return stimulus::requested_station(site, *cpu, Requested::by(recipient, Arc::default()));
            }
            let place = PartnerPlace::of(site, *cpu);
            stimulus::station(*cpu, place, recipient.clone(), recipient)
        };
        Ok(site.measured.iter().map(station).collect())
    }
}
