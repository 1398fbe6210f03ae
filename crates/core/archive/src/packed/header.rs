//! One header of the stream: 512 bytes that name a file and its length, as POSIX.1-1988 has them.

use super::{BLOCK, FILE_BYTES_MAX, NAME_BYTES_MAX, PackedError, PackedFile};
use std::ops::Range;

/// A block of the stream.
pub type Block = [u8; BLOCK];

const NAME: Range<usize> = 0..NAME_BYTES_MAX;
const MODE: Range<usize> = 100..108;
const USER: Range<usize> = 108..116;
const GROUP: Range<usize> = 116..124;
const SIZE: Range<usize> = 124..136;
const TIME: Range<usize> = 136..148;
const CHECKSUM: Range<usize> = 148..156;
const KIND: usize = 156;
const LINK: Range<usize> = 157..257;
/// Magic and version.
const MAGIC: Range<usize> = 257..265;
const DEVICE: [Range<usize>; 2] = [329..337, 337..345];
const PREFIX: Range<usize> = 345..500;

const USTAR: &[u8; 8] = b"ustar\x0000";
/// Of the user alone to write, for everyone to read.
const FILE_MODE: u64 = 0o644;

/// The header of a file. User, group and time stay empty: they are those of the machine that reads the stream.
pub fn encode(file: &PackedFile) -> Result<Block, PackedError> {
    let mut block = [0; BLOCK];
    let PackedFile { name, bytes } = file;
    if *bytes > FILE_BYTES_MAX {
        return Err(PackedError::TooLarge { name: name.clone(), bytes: *bytes, bytes_max: FILE_BYTES_MAX });
    }
    block[NAME][..name.len()].copy_from_slice(name.as_bytes());
    for (field, value) in [(MODE, FILE_MODE), (USER, 0), (GROUP, 0), (SIZE, *bytes), (TIME, 0)] {
        put(&mut block[field], value);
    }
    for field in DEVICE {
        put(&mut block[field], 0);
    }
    block[KIND] = b'0';
    block[MAGIC].copy_from_slice(USTAR);
    let sum = checksum(&block);
    put(&mut block[CHECKSUM.start..CHECKSUM.end - 1], sum);
    block[CHECKSUM.end - 1] = b' ';
    Ok(block)
}

/// The file that a header names. Its name is not checked.
pub fn decode(block: &Block) -> Result<PackedFile, PackedError> {
    if block[MAGIC] != *USTAR {
        return Err(PackedError::NoHeader("something else"));
    }
    if number(&block[CHECKSUM]) != Some(checksum(block)) {
        return Err(PackedError::NoHeader("a wrong checksum"));
    }
    let name = text(&block[NAME]).ok_or(PackedError::NoHeader("a name that is not UTF-8"))?;
    if block[PREFIX].iter().any(|byte| *byte != 0) {
        return Err(PackedError::Name(format!("{}/{name}", text(&block[PREFIX]).unwrap_or_default())));
    }
    if let Some(kind) = foreign(block[KIND]) {
        return Err(PackedError::Kind { name, kind });
    }
    if block[LINK].iter().any(|byte| *byte != 0) {
        return Err(PackedError::Kind { name, kind: "a link" });
    }
    let bytes = number(&block[SIZE]).ok_or(PackedError::NoHeader("a length that is not octal"))?;
    Ok(PackedFile { name, bytes })
}

/// A thing that is not a regular file.
fn foreign(kind: u8) -> Option<&'static str> {
    Some(match kind {
        b'0' => return None,
        b'1' | b'2' => "a link",
        b'3' | b'4' => "a device",
        b'5' => "a directory",
        b'6' => "a pipe",
        _ => "an extension of tar",
    })
}

/// The sum of all bytes, with spaces at the place of the sum.
fn checksum(block: &Block) -> u64 {
    let sum = |bytes: &[u8]| bytes.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    sum(block) - sum(&block[CHECKSUM]) + u64::from(b' ') * CHECKSUM.len() as u64
}

/// Octal digits that fill the field up to a zero.
fn put(field: &mut [u8], value: u64) {
    let digits = field.len() - 1;
    field[..digits].copy_from_slice(format!("{value:0digits$o}").as_bytes());
    field[digits] = 0;
}

/// Octal digits, then spaces and zeros.
fn number(field: &[u8]) -> Option<u64> {
    let digits = field.iter().take_while(|byte| (b'0'..=b'7').contains(byte)).count();
    let ends = field[digits..].iter().all(|byte| matches!(byte, 0 | b' '));
    // Twelve digits have 36 bits.
    let value = field[..digits].iter().fold(0, |value, digit| value << 3 | u64::from(digit - b'0'));
    (digits > 0 && ends).then_some(value)
}

/// Text up to the first zero; nothing may follow that.
fn text(field: &[u8]) -> Option<String> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let empty = field[end..].iter().all(|byte| *byte == 0);
    String::from_utf8(field[..end].to_vec()).ok().filter(|_| empty)
}
