//! A flight record of virtual time as the events of an equivalent trace, with additional ones: every call and every
//! return.
//!
//! The record contains the executed blocks of code, with the code itself. `blocks` determines the function and the time
//! of each block, `role` the meaning of functions, `calls` follows the calls in each thread, and `events` turns that
//! into events on the clock of the guest. None of it was in the guest, so it took no guest time. `stop_point` finds an
//! instant of the record in another run of the same machine.

mod blocks;
mod calls;
mod events;
mod role;
mod stop_point;
#[cfg(test)]
mod tests;

use crate::read::window::Window;
use archive::caveat::Limit;
use archive::spike::Spike;
use blocks::Blocks;
use events::{EventBuilder, FlightEvents};
use ftrace::flight_record::{FlightGap, FlightRecord, Keeping};
use ftrace::kernel_symbols::{KernelSymbols, SymbolText};
pub use stop_point::StopPoint;

/// Instructions kept before the relevant stretch, so that open calls are known by their returns.
const INSTRUCTIONS_BEFORE: u64 = 500_000;

/// A record opened for one wake-up.
#[derive(Debug)]
pub struct Flight {
    record: FlightRecord,
    symbols: KernelSymbols,
}

impl Flight {
    /// Number of bytes at the start that distinguish a flight record from a trace of the kernel.
    pub const MAGIC_BYTES: u64 = 8;

    /// Whether the bytes are a flight record rather than a trace of the kernel.
    pub fn is_one(bytes: &[u8]) -> bool {
        FlightRecord::is_one(bytes)
    }

    pub fn open(bytes: &[u8]) -> Self {
        let record = FlightRecord::parse(bytes);
        let symbols = KernelSymbols::parse(&record.symbols);
        Self { record, symbols }
    }

    pub fn has_records(&self) -> bool {
        !self.record.blocks.is_empty()
    }

    /// Events in the window, and their known limits.
    pub(crate) fn events(&self, spike: &Spike, window: Window) -> FlightEvents {
        EventBuilder::of(&self.record, &Blocks::of(&self.record, &self.symbols), spike, window)
    }

    /// Limits of the record.
    pub(crate) fn limits(&self) -> Vec<Limit> {
        let limit = |gap: &FlightGap| match gap {
            FlightGap::Forgotten(_) => None,
            FlightGap::NotARecord => Some(Limit::NotAFlightRecord),
            FlightGap::Version(version) => Some(Limit::FlightVersion(u64::from(*version))),
            FlightGap::CutBlock(_) | FlightGap::BrokenSection(_) => Some(Limit::FlightDamaged),
        };
        let nameless = self.symbols.is_empty().then_some(Limit::NoFunctionNames);
        self.record.gaps.iter().filter_map(limit).chain(nameless).collect()
    }
}

/// Prepares a file of the recorder for an archive: cut to what one wake-up needs, with names, and packed.
pub struct FlightArchiver {
    symbols: SymbolText,
}

impl FlightArchiver {
    /// `symbols`: lines in the format of /proc/kallsyms, of the guest's kernel.
    pub fn new(symbols: String) -> Self {
        Self { symbols: SymbolText::new(symbols) }
    }

    /// `None` if the file is not a flight record, or that of another wake-up.
    pub fn keep(&self, file: &[u8], spike: &Spike, instruction_shift: u32) -> Option<Vec<u8>> {
        let record = FlightRecord::parse(file);
        if record.blocks.is_empty() || record.marker != spike.sample.cycle {
            return None;
        }
        let latency = u64::try_from(spike.sample.latency_ns).unwrap_or(0) >> instruction_shift.min(20);
        let instructions = latency.saturating_mul(5) / 4 + INSTRUCTIONS_BEFORE;
        let keeping = Keeping { symbols: &self.symbols, instruction_shift, instructions };
        Some(ftrace::flight_record::keep(&record, &keeping))
    }
}
