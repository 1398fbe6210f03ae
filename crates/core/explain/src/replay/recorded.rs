//! The recording around a wake-up, by either recorder: the kernel's trace, or the flight recorder of virtual time.

use crate::SpikeInput;
use crate::read::flight::Flight;
use crate::read::window::Window;
use crate::recorder::Shown;
use crate::replay::snapshot::TraceSnapshot;
use crate::replay::trace::{Covered, CpuActivity, RecordItem, Trace};
use archive::caveat::Limit;
use ftrace::trace_dat::Source;

/// Recorded for one wake-up.
#[derive(Debug)]
pub enum Recorded<'a> {
    Trace(Box<TraceSnapshot<'a>>),
    Flight(Flight),
}

impl<'a> Recorded<'a> {
    /// Never fails; missing data is reported in the limits of the trace.
    pub fn new(source: Source<'a>, window: Window) -> Self {
        if Flight::is_one(&source.range(0, Flight::MAGIC_BYTES).0) {
            Self::Flight(Flight::open(&source.range(0, source.size()).0))
        } else {
            Self::Trace(Box::new(TraceSnapshot::new(source, window)))
        }
    }

    pub fn has_records(&self) -> bool {
        match self {
            Self::Trace(trace) => trace.has_records(),
            Self::Flight(flight) => flight.has_records(),
        }
    }

    pub fn trace(&self, input: &SpikeInput, window: Window) -> Trace<'_> {
        match self {
            Self::Trace(trace) => trace.trace(input, window),
            Self::Flight(flight) => flight_trace(flight, input, window),
        }
    }
}

/// The only CPU of a flight record.
fn flight_trace(flight: &Flight, input: &SpikeInput, window: Window) -> Trace<'static> {
    let (spike, sample) = (input.spike, input.sample);
    let found = flight.events(spike, window);
    let covered = Covered { from_ns: Some(found.from_ns), to_ns: found.to_ns, shown: Shown::ALL };
    let items = found.events.into_iter().map(RecordItem::Event);
    let activity = CpuActivity::read(spike.sample.cpu, items, window, covered, (spike.tid, None));
    let mut limits = flight.limits();
    if found.from_ns > window.due_ns {
        limits.push(Limit::RecordStartsLate { late_ns: found.from_ns - window.due_ns, sample });
    }
    if !found.sees_the_clock {
        limits.push(Limit::ClockReadNotSeen);
    }
    Trace { limits, ..Trace::new(window, vec![activity], found.names, true) }
}
