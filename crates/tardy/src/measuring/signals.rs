//! Turns signals from the user or the system into requests to stop.

use machines::stop::StopRequests;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// Signals received from now on.
#[derive(Clone)]
pub struct Signals {
    requests: StopRequests,
    over: Arc<AtomicBool>,
}

impl Signals {
    /// Starts to handle signals, for the rest of the process.
    ///
    /// # Errors
    /// If the kernel refuses a handler.
    pub fn watch() -> io::Result<Self> {
        let mut received = signal_hook::iterator::Signals::new([SIGINT, SIGTERM, SIGHUP])?;
        let signals = Self { requests: StopRequests::default(), over: Arc::default() };
        let (requests, over) = (signals.requests.clone(), Arc::clone(&signals.over));
        thread::spawn(move || {
            for signal in received.forever() {
                if over.load(Ordering::SeqCst) {
                    // The archive is complete; explaining can be repeated at any time.
                    let _ = signal_hook::low_level::emulate_default_handler(signal);
                } else if signal == SIGINT || requests.count() == 0 {
                    // Systems send SIGTERM and SIGHUP together: only a second Ctrl-C from the user means "now".
                    requests.request();
                }
            }
        });
        Ok(signals)
    }

    pub fn requests(&self) -> &StopRequests {
        &self.requests
    }

    /// From now on a signal ends the process as usual.
    pub fn measuring_is_over(&self) {
        self.over.store(true, Ordering::SeqCst);
    }
}
