//! Prepares a record for an archive: cut to the relevant part, with the names it needs, compressed.

use super::{ADDRESS_BITS, ExecutedBlock, FlightRecord, HEADER_BYTES, INSTRUCTIONS_MASK, MAGIC, VERSION};
use crate::kernel_symbols::SymbolText;
use std::collections::BTreeSet;

/// The additions of a kept record to the recorder's file.
#[derive(Clone, Copy, Debug)]
pub struct Keeping<'a> {
    /// The names of the kernel's functions.
    pub symbols: &'a SymbolText,
    /// An instruction took two to the power of this many ns.
    pub instruction_shift: u32,
    /// Fewest instructions to keep before the marker.
    pub instructions: u64,
}

/// A file with everything needed to read the record.
pub fn keep(record: &FlightRecord, keeping: &Keeping) -> Vec<u8> {
    let mut left = keeping.instructions;
    let kept = record.blocks.iter().rev().take_while(|block| {
        let wanted = left > 0;
        left = left.saturating_sub(u64::from(block.instructions));
        wanted
    });
    let first = record.blocks.len() - kept.count();
    let (mut words, mut addresses) = (Vec::new(), BTreeSet::new());
    for block in &record.blocks[first..] {
        words.push(packed(block));
        addresses.insert(block.address);
    }
    let kernel: Vec<u64> = addresses.iter().copied().filter(|address| address >> 63 != 0).collect();
    let forgotten = record.gaps.iter().map(|gap| if let super::FlightGap::Forgotten(count) = gap { *count } else { 0 });
    let pushed = words.len() as u64 + forgotten.sum::<u64>() + first as u64;
    let last = record.blocks.last().map_or(0, |block| block.instructions);
    let mut file = MAGIC.to_vec();
    file.extend(VERSION.to_le_bytes());
    file.extend((HEADER_BYTES as u32).to_le_bytes());
    file.extend(record.marker.to_le_bytes());
    file.extend(pushed.to_le_bytes());
    file.extend(last.to_le_bytes());
    file.extend([0; 4]);
    let words: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    section(&mut file, *b"RATE", &[keeping.instruction_shift as u8]);
    section(&mut file, *b"SYMS", keeping.symbols.excerpt(&kernel).as_bytes());
    section(&mut file, *b"CODE", &code(record, &addresses));
    section(&mut file, *b"BLCK", &words);
    file
}

const ADDRESS: u64 = (1 << ADDRESS_BITS) - 1;

fn packed(block: &ExecutedBlock) -> u64 {
    let instructions = u64::from(block.instructions).clamp(1, INSTRUCTIONS_MASK);
    block.address & ADDRESS | instructions << ADDRESS_BITS | u64::from(block.halts) << 63
}

fn code(record: &FlightRecord, addresses: &BTreeSet<u64>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for code in record.code.iter().filter(|code| addresses.contains(&code.address)) {
        bytes.extend(code.address.to_le_bytes());
        bytes.extend((code.bytes.len() as u16).to_le_bytes());
        bytes.extend((code.lengths.len() as u16).to_le_bytes());
        bytes.extend(&code.lengths);
        bytes.extend(&code.bytes);
    }
    bytes
}

fn section(file: &mut Vec<u8>, name: [u8; 4], bytes: &[u8]) {
    let (encoding, stored) = stored(bytes);
    file.extend(name);
    file.extend(encoding.to_le_bytes());
    file.extend((stored.len() as u64).to_le_bytes());
    file.extend(stored);
}

#[cfg(feature = "zlib")]
fn stored(bytes: &[u8]) -> (u32, Vec<u8>) {
    (1, miniz_oxide::deflate::compress_to_vec_zlib(bytes, 6))
}

#[cfg(not(feature = "zlib"))]
fn stored(bytes: &[u8]) -> (u32, Vec<u8>) {
    (0, bytes.to_vec())
}

#[cfg(test)]
mod tests {
    use super::super::{BlockCode, FlightGap};
    use super::*;

    #[test]
    fn a_kept_record_shows_the_same_from_there_on() {
        let block = |address, instructions| ExecutedBlock { address, instructions, halts: false };
        let (one, two) = (0xffff_ffff_8100_0010, 0xffff_ffff_8100_1000);
        let record = FlightRecord {
            marker: 5,
            blocks: vec![block(one, 10), block(two, 20), block(0x40_1000, 30), block(two, 4)],
            code: vec![BlockCode { address: two, lengths: vec![1, 2], bytes: vec![0x90, 0xeb, 0xfe] }],
            gaps: vec![FlightGap::Forgotten(7)],
            ..FlightRecord::default()
        };
        let symbols = SymbolText::new("ffffffff81000000 t idle\nffffffff81001000 T tick\n".into());
        let keeping = Keeping { symbols: &symbols, instruction_shift: 3, instructions: 33 };
        let kept = FlightRecord::parse(&keep(&record, &keeping));
        assert_eq!(kept.blocks, record.blocks[2..]);
        assert_eq!((kept.code, kept.instruction_shift), (record.code, 3));
        assert_eq!(kept.symbols, "ffffffff81001000 T tick\n");
        assert_eq!((kept.marker, kept.gaps), (5, vec![FlightGap::Forgotten(9)]));
    }
}
