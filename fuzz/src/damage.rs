//! Damage to a valid file that preserves most of its structure: random bytes are rejected at the first magic number.

use libfuzzer_sys::arbitrary::{self, Arbitrary};

#[derive(Debug, Clone, Arbitrary)]
pub enum Damage {
    /// A number that fits into the file, probably a length or an offset, becomes another one.
    Number {
        which: u16,
        wide: bool,
        value: Value,
    },
    /// Bytes at a place.
    Bytes {
        at: u32,
        bytes: [u8; 4],
    },
    /// A part of the file is copied over another part.
    Copied {
        from: u32,
        to: u32,
        length: u16,
    },
    /// A part of the file is inserted between two others: everything after it moves.
    Inserted {
        from: u32,
        to: u32,
        length: u16,
    },
    Removed {
        at: u32,
        length: u16,
    },
    Cut {
        at: u32,
    },
}

#[derive(Debug, Clone, Arbitrary)]
pub enum Value {
    /// The offset of another such number.
    Place(u16),
    /// The value of another such number.
    SameAs(u16),
    Off(i8),
    Power(u8),
    Max,
    Any(u64),
}

/// `sound` with all damages applied in order; at most twice as long.
pub fn spoilt(sound: &[u8], damages: &[Damage]) -> Vec<u8> {
    let mut file = sound.to_vec();
    let numbers = numbers(sound);
    for damage in damages {
        if file.is_empty() {
            break;
        }
        damage.apply(&mut file, &numbers);
        file.truncate(sound.len() * 2);
    }
    file
}

/// Offsets of little-endian numbers of four bytes that could point into the file.
fn numbers(file: &[u8]) -> Vec<usize> {
    let within = |at: &usize| {
        let number = u32::from_le_bytes([file[*at], file[at + 1], file[at + 2], file[at + 3]]);
        number > 0 && number as usize <= file.len()
    };
    (0..file.len().saturating_sub(3)).filter(within).collect()
}

impl Damage {
    fn apply(&self, file: &mut Vec<u8>, numbers: &[usize]) {
        let place = |at: u32| at as usize % file.len();
        match *self {
            Self::Number { which, wide, ref value } => {
                let Some(&at) = picked(numbers, which) else { return };
                let value = value.among(numbers, file, at);
                let size = if wide { 8 } else { 4 };
                if let Some(bytes) = file.get_mut(at..at + size) {
                    bytes.copy_from_slice(&value.to_le_bytes()[..size]);
                }
            }
            Self::Bytes { at, bytes } => {
                let at = place(at);
                for (there, new) in file[at..].iter_mut().zip(bytes) {
                    *there = new;
                }
            }
            Self::Copied { from, to, length } => {
                let (part, to) = (part(file, place(from), length), place(to));
                for (there, new) in file[to..].iter_mut().zip(part) {
                    *there = new;
                }
            }
            Self::Inserted { from, to, length } => {
                let (part, to) = (part(file, place(from), length), place(to));
                file.splice(to..to, part);
            }
            Self::Removed { at, length } => {
                let at = place(at);
                let end = file.len().min(at + usize::from(length));
                file.drain(at..end);
            }
            Self::Cut { at } => {
                let at = place(at);
                file.truncate(at);
            }
        }
    }
}

fn picked(numbers: &[usize], which: u16) -> Option<&usize> {
    numbers.get(usize::from(which) % numbers.len().max(1))
}

fn part(file: &[u8], from: usize, length: u16) -> Vec<u8> {
    file[from..file.len().min(from + usize::from(length))].to_vec()
}

impl Value {
    fn among(&self, numbers: &[usize], file: &[u8], at: usize) -> u64 {
        let read = |at: usize| {
            let bytes = file.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(0, |bytes| u64::from(u32::from_le_bytes(bytes)))
        };
        match *self {
            Self::Place(which) => picked(numbers, which).map_or(0, |at| *at as u64),
            Self::SameAs(which) => picked(numbers, which).map_or(0, |at| read(*at)),
            Self::Off(by) => read(at).wrapping_add_signed(i64::from(by)),
            Self::Power(bit) => 1 << (bit % 64),
            Self::Max => u64::MAX,
            Self::Any(value) => value,
        }
    }
}
