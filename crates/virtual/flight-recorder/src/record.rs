//! The file of one flight record.
//!
//! All numbers are little-endian: `magic[8] version:u32 header_bytes:u32 marker:u64 pushed:u64 last_instructions:u32
//! zero:u32`, then sections: `name[4] encoding:u32 length:u64` and `length` bytes. Encoding 0 is plain. `pushed` is the
//! total number of words, from which a reader computes how many are missing before the first. The marker is in the last
//! block, of which `last_instructions` were executed, including the marker.
//!
//! | section | holds |
//! |---|---|
//! | `BLCK` | a word for each block, oldest first, as [`crate::block`] packs them |
//! | `CODE` | the code of these blocks, see [`crate::code`] |

use crate::code::Code;
use crate::ring::Ring;
use std::collections::BTreeSet;
use std::io::{self, Write};

pub const MAGIC: [u8; 8] = *b"TDFLIGHT";
pub const VERSION: u32 = 2;
pub const HEADER_BYTES: u32 = 40;
const ADDRESS_BITS: u32 = 48;

/// Writes the record.
///
/// # Errors
/// Errors of `to`.
pub fn write(ring: &Ring, code: &Code, marker: u64, last_instructions: u32, mut to: impl Write) -> io::Result<()> {
    to.write_all(&MAGIC)?;
    to.write_all(&VERSION.to_le_bytes())?;
    to.write_all(&HEADER_BYTES.to_le_bytes())?;
    to.write_all(&marker.to_le_bytes())?;
    to.write_all(&ring.pushed().to_le_bytes())?;
    to.write_all(&last_instructions.to_le_bytes())?;
    to.write_all(&[0; 4])?;
    let (mut words, mut blocks) = (Vec::new(), BTreeSet::new());
    for word in ring.words() {
        words.extend(word.to_le_bytes());
        blocks.insert(address_of(word));
    }
    section(&mut to, *b"BLCK", &words)?;
    section(&mut to, *b"CODE", &code.written(&Vec::from_iter(blocks)))?;
    to.flush()
}

fn section(to: &mut impl Write, name: [u8; 4], bytes: &[u8]) -> io::Result<()> {
    to.write_all(&name)?;
    to.write_all(&[0; 4])?;
    to.write_all(&(bytes.len() as u64).to_le_bytes())?;
    to.write_all(bytes)
}

/// The upper bits of an address repeat the last one below them.
fn address_of(word: u64) -> u64 {
    let unused = u64::BITS - ADDRESS_BITS;
    ((word << unused) as i64 >> unused) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::packed;
    use crate::code::BlockCode;

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let ring = Ring::with_capacity(2);
        let block = packed(0xffff_ffff_8100_1234, 5, false);
        for word in [1, 2, block] {
            ring.push(word);
        }
        let mut code = Code::default();
        code.remember(0xffff_ffff_8100_1234, BlockCode { lengths: vec![1], bytes: vec![0x90] });
        let mut file = Vec::new();
        write(&ring, &code, 0x11, 7, &mut file).unwrap();
        let header: [&[u8]; 7] = [
            b"TDFLIGHT",
            &[2, 0, 0, 0],
            &[40, 0, 0, 0],
            &[0x11, 0, 0, 0, 0, 0, 0, 0],
            &[3, 0, 0, 0, 0, 0, 0, 0],
            &[7, 0, 0, 0],
            &[0; 4],
        ];
        let sections: [&[u8]; 10] = [
            b"BLCK",
            &[0; 4],
            &[16, 0, 0, 0, 0, 0, 0, 0],
            &[2, 0, 0, 0, 0, 0, 0, 0],
            &block.to_le_bytes(),
            b"CODE",
            &[0; 4],
            &[14, 0, 0, 0, 0, 0, 0, 0],
            &0xffff_ffff_8100_1234_u64.to_le_bytes(),
            &[1, 0, 1, 0, 1, 0x90],
        ];
        assert_eq!(file, [header.concat(), sections.concat()].concat());
        assert_eq!(header.concat().len() as u32, HEADER_BYTES);
    }
}
