//! Reads /proc/self/maps byte by byte, without memory of its own: a thread does so before its first recorded call.

use std::ops::Range;

const STACK: &[u8; 7] = b"[stack]";
/// The stack of the first thread grows up to its limit, of which this much is always below its end.
const FIRST_STACK_BYTES: u64 = 8 << 20;
/// A frame fits there.
const FRAME_BYTES: u64 = 16;

/// One mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mapping {
    pub start: u64,
    /// Exclusive.
    pub end: u64,
    /// The stack of the first thread, which grows.
    pub is_first_stack: bool,
}

impl Mapping {
    /// The stack of a thread in this mapping, up to the last frame, for its stack pointer and an address of its own storage. The
    /// storage lies above the stack, and what may be above the storage is another mapping, which the kernel has joined with this one
    /// and which may go away. `None` where the stack pointer is not in the stack that the thread started with.
    pub fn stack(&self, position: u64, storage: u64) -> Option<Range<u64>> {
        let mapping = self.start..self.end;
        let (low, high) = match (self.is_first_stack, mapping.contains(&storage)) {
            (true, _) => (self.end.saturating_sub(FIRST_STACK_BYTES), self.end),
            (false, true) => (self.start, storage),
            (false, false) => return None,
        };
        let stack = low..high.saturating_sub(FRAME_BYTES);
        (mapping.contains(&position) && stack.contains(&position)).then_some(stack)
    }
}

/// Takes the text of the file in pieces of any size.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    mapping: Mapping,
    field: usize,
    last: [u8; 7],
}

impl Reader {
    /// Takes one byte; returns the mapping at the end of its line.
    pub fn push(&mut self, byte: u8) -> Option<Mapping> {
        match (byte, self.field) {
            (b'\n', _) => {
                let is_first_stack = self.last == *STACK;
                let mapping = Mapping { is_first_stack, ..self.mapping };
                *self = Self::default();
                return Some(mapping);
            }
            (b'-', 0) => self.field = 1,
            (b' ', 1) => self.field = 2,
            (_, 0) => self.mapping.start = self.mapping.start << 4 | digit(byte),
            (_, 1) => self.mapping.end = self.mapping.end << 4 | digit(byte),
            _ => {}
        }
        self.last.rotate_left(1);
        self.last[6] = byte;
        None
    }
}

fn digit(byte: u8) -> u64 {
    u64::from((byte as char).to_digit(16).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lines_are_mappings() {
        let text = "7f01-7f22 r-xp 00001000 fe:00 12   /usr/lib/a-b.so\n7ffd00-7fff00 rw-p 0 00:00 0      [stack]\n10-20 rw-p 0 00:00 0\n";
        let mut reader = Reader::default();
        let found: Vec<Mapping> = text.bytes().filter_map(|byte| reader.push(byte)).collect();
        let mapping = |start, end, is_first_stack| Mapping { start, end, is_first_stack };
        assert_eq!(
            found,
            [mapping(0x7f01, 0x7f22, false), mapping(0x7ffd00, 0x7fff00, true), mapping(0x10, 0x20, false)]
        );
    }

    #[test]
    fn a_stack_ends_at_the_storage_of_its_thread_and_not_with_the_mapping() {
        let joined = Mapping { start: 0x1000, end: 0x9000, is_first_stack: false };
        assert_eq!(joined.stack(0x2000, 0x5000), Some(0x1000..0x4ff0));
        for (position, storage) in [(0x6000, 0x5000), (0x4ff8, 0x5000), (0x2000, 0x9000), (0x500, 0x5000)] {
            assert_eq!(joined.stack(position, storage), None, "{position:#x} {storage:#x}");
        }
        let first = Mapping { start: 0x7ff0_0000, end: 0x8000_0000, is_first_stack: true };
        assert_eq!(first.stack(0x7fff_0000, 0x5000), Some(0x7f80_0000..0x7fff_fff0));
        assert_eq!(first.stack(0x7fef_0000, 0x5000), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            let mut reader = Reader::default();
            let found = bytes.iter().filter_map(|byte| reader.push(*byte)).count();
            prop_assert_eq!(found, bytes.iter().filter(|byte| **byte == b'\n').count());
        }
    }
}
