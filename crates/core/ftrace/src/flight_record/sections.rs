//! The sections of a flight record, since version 2.

use std::borrow::Cow;

use super::{FlightGap, FlightRecord};

/// Limit of the decompressed size of all sections. A real record needs far less; more is a decompression bomb.
const UNPACKED_BYTES_MAX: usize = 1 << 26;

/// The code of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockCode {
    pub address: u64,
    /// Length of each instruction.
    pub lengths: Vec<u8>,
    pub bytes: Vec<u8>,
}

impl BlockCode {
    /// The bytes of each of the first `count` instructions.
    pub fn instructions(&self, count: u32) -> impl Iterator<Item = &[u8]> {
        let mut rest = self.bytes.as_slice();
        self.lengths.iter().take(count as usize).map_while(move |&length| {
            let (instruction, behind) = rest.split_at_checked(usize::from(length))?;
            rest = behind;
            Some(instruction)
        })
    }
}

/// Reads from the front of some bytes.
pub struct Taking<'a>(pub &'a [u8]);

impl<'a> Taking<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// A little-endian number of `size` bytes.
    pub fn number(&mut self, size: usize) -> Option<u64> {
        Some(self.bytes(size)?.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }

    pub fn length(&mut self) -> Option<usize> {
        usize::try_from(self.number(8)?).ok()
    }
}

impl FlightRecord {
    /// Reads every known section.
    pub(super) fn take_sections(&mut self, bytes: &[u8]) {
        let mut rest = Taking(bytes);
        let mut unpacked_bytes_left = UNPACKED_BYTES_MAX;
        while !rest.0.is_empty() {
            let head = |rest: &mut Taking| Some((*rest.bytes(4)?.first_chunk()?, rest.number(4)?, rest.length()?));
            let Some((name, encoding, length)) = head(&mut rest) else {
                self.gaps.push(FlightGap::BrokenSection(*b"head"));
                return;
            };
            let there = rest.0.len().min(length);
            let stored = rest.bytes(there).unwrap_or_default();
            if there < length {
                self.gaps.push(FlightGap::BrokenSection(name));
            }
            match unpacked(encoding, stored, unpacked_bytes_left) {
                Some(plain) => {
                    if let Cow::Owned(plain) = &plain {
                        unpacked_bytes_left -= plain.len();
                    }
                    self.take_section(name, &plain);
                }
                None => self.gaps.push(FlightGap::BrokenSection(name)),
            }
        }
    }

    fn take_section(&mut self, name: [u8; 4], bytes: &[u8]) {
        let whole = match &name {
            b"BLCK" => {
                self.take_words(bytes);
                Some(())
            }
            b"CODE" => self.take_code(Taking(bytes)),
            b"SYMS" => {
                self.symbols = String::from_utf8_lossy(bytes).into_owned();
                Some(())
            }
            b"RATE" => {
                self.instruction_shift = bytes.first().map_or(0, |shift| u32::from(*shift).min(20));
                Some(())
            }
            // A section of a later version, which the header allows.
            _ => Some(()),
        };
        if whole.is_none() {
            self.gaps.push(FlightGap::BrokenSection(name));
        }
    }

    fn take_code(&mut self, mut rest: Taking) -> Option<()> {
        while !rest.0.is_empty() {
            let address = rest.number(8)?;
            let (bytes, count) = (rest.number(2)? as usize, rest.number(2)? as usize);
            let (lengths, bytes) = (rest.bytes(count)?.to_vec(), rest.bytes(bytes)?.to_vec());
            self.code.push(BlockCode { address, lengths, bytes });
        }
        self.code.sort_by_key(|code| code.address);
        Some(())
    }

    /// The code of the block at this address, if it is known.
    pub fn code_at(&self, address: u64) -> Option<&BlockCode> {
        let found = self.code.binary_search_by_key(&address, |code| code.address).ok()?;
        self.code.get(found)
    }
}

/// Contents of a section; `None` if it cannot be decompressed, or exceeds `bytes_max`.
fn unpacked(encoding: u64, stored: &[u8], bytes_max: usize) -> Option<Cow<'_, [u8]>> {
    match encoding {
        0 => Some(Cow::Borrowed(stored)),
        #[cfg(feature = "zlib")]
        1 => {
            let plain = miniz_oxide::inflate::decompress_to_vec_zlib_with_limit(stored, bytes_max).ok()?;
            Some(Cow::Owned(plain))
        }
        _ => {
            let _ = bytes_max;
            None
        }
    }
}

#[cfg(all(test, feature = "zlib"))]
mod tests {
    use super::*;

    #[test]
    fn all_sections_together_unpack_to_no_more_than_one_may() {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; UNPACKED_BYTES_MAX / 4], 9);
        let section = [&b"SYMS\x01\0\0\0"[..], &(packed.len() as u64).to_le_bytes(), &packed].concat();
        let mut record = FlightRecord::default();
        record.take_sections(&section.repeat(6));
        assert_eq!(record.gaps, [FlightGap::BrokenSection(*b"SYMS"); 2]);
        assert_eq!(record.symbols.len(), UNPACKED_BYTES_MAX / 4);
    }
}
