//! One system call, or one call of a function of the C library, in memory and in the archive: 128 bytes, little endian.
//!
//! In memory the instants are ticks of the processor's cycle counter; the meter stores ns of CLOCK_MONOTONIC instead, and
//! the process in place of the mark.

/// Bytes of a record; a power of two.
pub const RECORD_BYTES: usize = 128;
/// Return addresses beside the call itself.
pub const CALLERS: usize = 4;

/// Offsets in a record.
pub mod at {
    pub const MARK: usize = 0;
    pub const ENTERED: usize = 8;
    pub const RETURNED: usize = 16;
    pub const NUMBER: usize = 24;
    pub const TID: usize = 28;
    pub const ARGUMENTS: usize = 32;
    pub const RESULT: usize = 80;
    pub const ADDRESS: usize = 88;
    pub const CALLERS: usize = 96;
}

/// The value of [`at::RETURNED`] for a call that never returns, such as exit(2), or had not when the recording ended.
pub const NEVER: u64 = u64::MAX;
/// Bit of [`at::NUMBER`]: a delay or an error was injected.
pub const INJECTED: u32 = 1 << 31;
/// Bit of [`at::NUMBER`]: the rest is a [`crate::function::Function`] and not a system call. Such a record is made after the
/// call, so it follows the system calls of its function. The second argument of a mutex is its kind, as the C library has it.
pub const LIBRARY: u32 = 1 << 30;

/// A record, read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The mark in memory, the process in the archive.
    pub mark: u64,
    pub entered: u64,
    pub returned: u64,
    pub number: u32,
    pub injected: bool,
    /// The number is that of a function.
    pub of_library: bool,
    pub tid: i32,
    pub arguments: [u64; 6],
    pub result: i64,
    /// The instruction after the call, as the kernel has it.
    pub address: u64,
    /// Return addresses, innermost first, found by frame pointers; 0 where there are no more.
    pub callers: [u64; CALLERS],
}

impl Record {
    /// Reads a record; whatever the bytes are, they are one.
    pub fn read(bytes: &[u8; RECORD_BYTES]) -> Self {
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&bytes[at..at + 8]);
            u64::from_le_bytes(word)
        };
        let half = |at: usize| (word(at & !7) >> ((at & 4) * 8)) as u32;
        let number = half(at::NUMBER);
        Self {
            mark: word(at::MARK),
            entered: word(at::ENTERED),
            returned: word(at::RETURNED),
            number: number & !(INJECTED | LIBRARY),
            injected: number & INJECTED != 0,
            of_library: number & LIBRARY != 0,
            tid: half(at::TID) as i32,
            arguments: std::array::from_fn(|index| word(at::ARGUMENTS + index * 8)),
            result: word(at::RESULT) as i64,
            address: word(at::ADDRESS),
            callers: std::array::from_fn(|index| word(at::CALLERS + index * 8)),
        }
    }

    /// The bytes of a record.
    pub fn bytes(&self) -> [u8; RECORD_BYTES] {
        let mut bytes = [0; RECORD_BYTES];
        let mut put = |at: usize, word: u64| bytes[at..at + 8].copy_from_slice(&word.to_le_bytes());
        let flags = if self.injected { INJECTED } else { 0 } | if self.of_library { LIBRARY } else { 0 };
        let number = self.number & !(INJECTED | LIBRARY) | flags;
        put(at::MARK, self.mark);
        put(at::ENTERED, self.entered);
        put(at::RETURNED, self.returned);
        put(at::NUMBER, u64::from(number) | u64::from(self.tid as u32) << 32);
        self.arguments.iter().enumerate().for_each(|(index, argument)| put(at::ARGUMENTS + index * 8, *argument));
        put(at::RESULT, self.result as u64);
        put(at::ADDRESS, self.address);
        self.callers.iter().enumerate().for_each(|(index, caller)| put(at::CALLERS + index * 8, *caller));
        bytes
    }
}

/// The records of a file of the archive; a cut one at its end is left out.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = Record> {
    bytes.as_chunks::<RECORD_BYTES>().0.iter().map(Record::read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_bytes_are_a_record_and_no_byte_is_lost(words in proptest::array::uniform16(any::<u64>())) {
            let mut bytes = [0; RECORD_BYTES];
            for (index, word) in words.iter().enumerate() {
                bytes[index * 8..index * 8 + 8].copy_from_slice(&word.to_le_bytes());
            }
            prop_assert_eq!(Record::read(&bytes).bytes(), bytes);
        }
    }
}
