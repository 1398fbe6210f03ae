//! Signals of a guard: the usual ones end it, SIGUSR1 saves the last seconds.

use machines::stop::StopRequests;
use runner::run::MeterRequests;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Signals received from now on.
#[derive(Clone, Default)]
pub struct GuardSignals {
    stops: StopRequests,
    session: Arc<Mutex<StopRequests>>,
    pub requests: MeterRequests,
}

impl GuardSignals {
    /// Starts to handle signals, for the rest of the process.
    ///
    /// # Errors
    /// If the kernel refuses a handler.
    pub fn watch() -> io::Result<Self> {
        let mut received = Signals::new([SIGINT, SIGTERM, SIGHUP, SIGUSR1])?;
        let signals = Self::default();
        let shared = signals.clone();
        thread::Builder::new().name("tardy:signals".into()).spawn(move || {
            for signal in received.forever() {
                if signal == SIGUSR1 {
                    shared.requests.save();
                } else if signal == SIGINT || shared.stops.count() == 0 {
                    // Only a second Ctrl-C means "now".
                    shared.stops.request();
                    shared.end_session();
                }
            }
        })?;
        Ok(signals)
    }

    /// Whether the guard was asked to end.
    pub fn is_over(&self) -> bool {
        self.stops.count() > 0
    }

    /// Requests to end a session that begins now.
    pub fn begin_session(&self) -> StopRequests {
        let stop = StopRequests::default();
        *self.session.lock().unwrap_or_else(PoisonError::into_inner) = stop.clone();
        if self.is_over() {
            stop.request();
        }
        stop
    }

    /// Ends the current session.
    pub fn end_session(&self) {
        self.session.lock().unwrap_or_else(PoisonError::into_inner).request();
    }
}
