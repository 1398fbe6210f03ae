//! What was recorded around a wake-up, whoever recorded it: the kernel's trace, or the flight recorder of virtual time.

use crate::flight::Flight;
use crate::scene::Scene;
use crate::snapshot::TraceSnapshot;
use crate::window::Window;
use archive::spike::Spike;

/// Opened for one wake-up.
#[derive(Debug)]
pub enum Opened<'a> {
    Trace(Box<TraceSnapshot<'a>>),
    Flight(Flight),
}

impl<'a> Opened<'a> {
    /// Never fails; what the bytes do not hold is said in the scene's caveats.
    pub fn new(bytes: &'a [u8], window: Window) -> Self {
        if Flight::is_one(bytes) {
            Self::Flight(Flight::open(bytes))
        } else {
            Self::Trace(Box::new(TraceSnapshot::new(bytes, window)))
        }
    }

    pub fn has_records(&self) -> bool {
        match self {
            Self::Trace(trace) => trace.has_records(),
            Self::Flight(flight) => flight.has_records(),
        }
    }

    pub fn scene(&self, spike: &Spike, window: Window) -> Scene<'_> {
        match self {
            Self::Trace(trace) => trace.scene(spike, window),
            Self::Flight(flight) => flight.scene(spike, window),
        }
    }
}
