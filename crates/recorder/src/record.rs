//! The file of one flight record.
//!
//! All numbers are little-endian: `magic[8] version:u32 header_bytes:u32 marker:u64 pushed:u64 last_instructions:u32
//! zero:u32`, then a word for each block, oldest first, as [`crate::block`] packs them. `pushed` counts the blocks that
//! were ever executed, so a reader sees how many are missing before the first. The marker lies in the last block, of
//! which `last_instructions` were executed when it was met, the marker included.

use crate::ring::Ring;
use std::io::{self, Write};

pub const MAGIC: [u8; 8] = *b"TDFLIGHT";
pub const VERSION: u32 = 1;
pub const HEADER_BYTES: u32 = 40;

/// Writes what the ring holds.
///
/// # Errors
/// Those of `to`.
pub fn write(ring: &Ring, marker: u64, last_instructions: u32, mut to: impl Write) -> io::Result<()> {
    to.write_all(&MAGIC)?;
    to.write_all(&VERSION.to_le_bytes())?;
    to.write_all(&HEADER_BYTES.to_le_bytes())?;
    to.write_all(&marker.to_le_bytes())?;
    to.write_all(&ring.pushed().to_le_bytes())?;
    to.write_all(&last_instructions.to_le_bytes())?;
    to.write_all(&[0; 4])?;
    for word in ring.words() {
        to.write_all(&word.to_le_bytes())?;
    }
    to.flush()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bytes_are_those_of_the_format() {
        let ring = Ring::with_capacity(2);
        for word in [1, 2, 0x0102_0304_0506_0708] {
            ring.push(word);
        }
        let mut file = Vec::new();
        write(&ring, 0x11, 7, &mut file).unwrap();
        let expected: [&[u8]; 9] = [
            b"TDFLIGHT",
            &[1, 0, 0, 0],
            &[40, 0, 0, 0],
            &[0x11, 0, 0, 0, 0, 0, 0, 0],
            &[3, 0, 0, 0, 0, 0, 0, 0],
            &[7, 0, 0, 0],
            &[0; 4],
            &[2, 0, 0, 0, 0, 0, 0, 0],
            &[8, 7, 6, 5, 4, 3, 2, 1],
        ];
        assert_eq!(file, expected.concat());
        assert_eq!(file.len() as u32, HEADER_BYTES + 16);
    }
}
