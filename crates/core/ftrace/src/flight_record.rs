//! Flight records of virtual time: the blocks of code that a guest executed before a marker, written by the emulator's
//! plugin in `crates/virtual/flight-recorder`.
//!
//! In virtual time an instruction takes a nanosecond, so the number of instructions from a block to the marker is the
//! time between them, unless the processor halted. A block interrupted by a fault counts completely, so the sum may be
//! a few instructions too high for each fault.
//!
//! Version 1 has only the blocks after its header. Version 2 has sections: the code of the blocks, the threads that
//! were switched to, and, once it is kept in an archive, the names of functions and threads.

mod keeping;
mod sections;

use crate::kernel_symbols::KernelSymbols;
pub use keeping::{Keeping, keep};
pub use sections::BlockCode;

const MAGIC: &[u8; 8] = b"TDFLIGHT";
/// The latest known layout; every later version has at least its header.
const VERSION: u32 = 2;
const HEADER_BYTES: usize = 40;
const ADDRESS_BITS: u32 = 48;
const INSTRUCTIONS_MASK: u64 = (1 << 12) - 1;

/// An executed block of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExecutedBlock {
    pub address: u64,
    pub instructions: u32,
    /// Whether it ends with the processor halted, after which time advances without instructions.
    pub halts: bool,
}

/// A missing part of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FlightGap {
    /// The bytes are not a flight record, or end within its header.
    NotARecord,
    /// A later version wrote it; the known parts were read.
    Version(u32),
    /// The last bytes, this many, are not a complete block.
    CutBlock(usize),
    /// The ring was full: this many blocks were executed before the first one here.
    Forgotten(u64),
    /// A section ends early, or cannot be decompressed.
    BrokenSection([u8; 4]),
}

/// A flight record, as far as its bytes are valid.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FlightRecord {
    /// Number of the final marker, counted from 0: the wake-up with this number.
    pub marker: u64,
    /// Oldest first. The last one counts up to the marker only.
    pub blocks: Vec<ExecutedBlock>,
    /// By address, ascending.
    pub code: Vec<BlockCode>,
    /// Lines of /proc/kallsyms for the addresses of the blocks; empty until it is kept in an archive.
    pub symbols: String,
    /// An instruction took two to the power of this many ns; 0 until it is kept in an archive.
    pub instruction_shift: u32,
    pub gaps: Vec<FlightGap>,
}

/// The place of a stretch of blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place<'a> {
    /// A function of the kernel or of a module.
    Function(&'a str),
    /// A program.
    Program,
    /// Kernel code without a known symbol.
    Unknown,
}

/// Consecutive blocks in one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stretch<'a> {
    pub place: Place<'a>,
    /// Address of the first block.
    pub address: u64,
    /// Instructions from its start to the marker: nanoseconds of virtual time, unless the processor halted in between.
    pub before_marker: u64,
    pub instructions: u64,
    /// Number of halts from its start to the marker.
    pub halts: u32,
}

impl FlightRecord {
    /// Parses the valid part of the bytes.
    pub fn parse(bytes: &[u8]) -> FlightRecord {
        let mut record = FlightRecord::default();
        let number = |at: usize, size: usize| {
            let field = bytes.get(at..at + size)?;
            Some(field.iter().rev().fold(0, |sum: u64, byte| sum << 8 | u64::from(*byte)))
        };
        let header = || Some((number(8, 4)?, number(12, 4)?, number(16, 8)?, number(24, 8)?, number(32, 4)?));
        let Some((version, header_bytes, marker, pushed, last)) =
            header().filter(|_| bytes.starts_with(MAGIC) && bytes.len() >= HEADER_BYTES)
        else {
            record.gaps.push(FlightGap::NotARecord);
            return record;
        };
        if version > u64::from(VERSION) {
            record.gaps.push(FlightGap::Version(version as u32));
        }
        record.marker = marker;
        let body = usize::try_from(header_bytes).ok().and_then(|at| bytes.get(at.max(HEADER_BYTES)..));
        let body = body.unwrap_or_default();
        if version < 2 {
            record.take_words(body)
        } else {
            record.take_sections(body)
        };
        let forgotten = pushed.saturating_sub(record.blocks.len() as u64);
        if forgotten > 0 {
            record.gaps.push(FlightGap::Forgotten(forgotten));
        }
        if let Some(block) = record.blocks.last_mut() {
            block.instructions = block.instructions.min(last as u32);
        }
        record
    }

    /// Whether the bytes start like a flight record.
    pub fn is_one(bytes: &[u8]) -> bool {
        bytes.starts_with(MAGIC)
    }

    fn take_words(&mut self, bytes: &[u8]) {
        let words = bytes.chunks_exact(8);
        if !words.remainder().is_empty() {
            self.gaps.push(FlightGap::CutBlock(words.remainder().len()));
        }
        self.blocks
            .extend(words.map(|word| unpacked(word.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))));
    }

    /// The blocks joined by place, oldest first.
    pub fn stretches<'a>(&self, symbols: &'a KernelSymbols) -> Vec<Stretch<'a>> {
        let mut stretches: Vec<Stretch> = Vec::new();
        let (mut before_marker, mut halts) = (0, 0);
        for block in self.blocks.iter().rev() {
            let instructions = u64::from(block.instructions);
            before_marker += instructions;
            halts += u32::from(block.halts);
            let place = place_of(block.address, symbols);
            match stretches.last_mut() {
                Some(later) if later.place == place => {
                    later.address = block.address;
                    later.before_marker = before_marker;
                    later.instructions += instructions;
                    later.halts = halts;
                }
                _ => stretches.push(Stretch { place, address: block.address, before_marker, instructions, halts }),
            }
        }
        stretches.reverse();
        stretches
    }
}

fn unpacked(word: u64) -> ExecutedBlock {
    let unused = u64::BITS - ADDRESS_BITS;
    ExecutedBlock {
        // The upper bits of an address repeat the last one below them.
        address: ((word << unused) as i64 >> unused) as u64,
        instructions: (word >> ADDRESS_BITS & INSTRUCTIONS_MASK) as u32,
        halts: word >> 63 != 0,
    }
}

fn place_of(address: u64, symbols: &KernelSymbols) -> Place<'_> {
    if address >> 63 == 0 {
        return Place::Program;
    }
    symbols.find(address).map_or(Place::Unknown, |(name, _)| Place::Function(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn file(pushed: u64, last: u32, words: &[u64]) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(1u32.to_le_bytes());
        bytes.extend((HEADER_BYTES as u32).to_le_bytes());
        bytes.extend(17u64.to_le_bytes());
        bytes.extend(pushed.to_le_bytes());
        bytes.extend(last.to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
        bytes
    }

    const HALT: u64 = 1 << 63 | 4 << 48 | 0xffff_8100_0000;
    const TICK: u64 = 10 << 48 | 0xffff_8100_1000;
    const TICK_LATER: u64 = 20 << 48 | 0xffff_8100_1040;
    const PROGRAM: u64 = 30 << 48 | 0x40_1000;

    #[test]
    fn stretches_count_back_from_the_marker() {
        let record = FlightRecord::parse(&file(4, 6, &[HALT, TICK, TICK_LATER, PROGRAM]));
        assert_eq!((record.marker, record.gaps.as_slice()), (17, &[][..]));
        let symbols = KernelSymbols::parse("ffffffff81000000 t idle\nffffffff81001000 T tick\n");
        let (idle, tick, program) = (0xffff_ffff_8100_0000, 0xffff_ffff_8100_1000, 0x40_1000);
        let stretch = |place, address, before_marker, instructions, halts| Stretch {
            place,
            address,
            before_marker,
            instructions,
            halts,
        };
        assert_eq!(
            record.stretches(&symbols),
            [
                stretch(Place::Function("idle"), idle, 40, 4, 1),
                stretch(Place::Function("tick"), tick, 36, 30, 0),
                stretch(Place::Program, program, 6, 6, 0),
            ]
        );
        let none = KernelSymbols::default();
        assert_eq!(record.stretches(&none)[0], stretch(Place::Unknown, idle, 40, 34, 1));
    }

    #[test]
    fn a_missing_part_is_named() {
        let whole = file(9, 100, &[TICK, PROGRAM]);
        assert_eq!(FlightRecord::parse(&whole).gaps, [FlightGap::Forgotten(7)]);
        assert_eq!(
            FlightRecord::parse(&whole[..whole.len() - 3]).gaps,
            [FlightGap::CutBlock(5), FlightGap::Forgotten(8)]
        );
        assert_eq!(FlightRecord::parse(&whole[..HEADER_BYTES - 1]).gaps, [FlightGap::NotARecord]);
        assert_eq!(FlightRecord::parse(b"").gaps, [FlightGap::NotARecord]);
        let mut later = whole;
        later[8] = 3;
        let later = FlightRecord::parse(&later);
        assert_eq!(later.gaps.first(), Some(&FlightGap::Version(3)));
        assert_eq!(later.marker, 17);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_flight_record_of_some_kind(
            head in any::<bool>(),
            rest in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            let bytes = if head { [MAGIC.as_slice(), &rest].concat() } else { rest };
            let record = FlightRecord::parse(&bytes);
            prop_assert!(record.blocks.len() <= bytes.len() / 8);
            let sum = record.blocks.iter().map(|block| u64::from(block.instructions)).sum::<u64>();
            let symbols = KernelSymbols::default();
            let stretches = record.stretches(&symbols);
            prop_assert_eq!(stretches.iter().map(|stretch| stretch.instructions).sum::<u64>(), sum);
            prop_assert_eq!(stretches.first().map_or(0, |stretch| stretch.before_marker), sum);
        }
    }
}
