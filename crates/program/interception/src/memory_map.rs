//! Reads /proc/self/maps byte by byte, without memory of its own: a thread does so before its first recorded call.

const STACK: &[u8; 7] = b"[stack]";

/// One mapping.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Mapping {
    pub start: u64,
    /// Exclusive.
    pub end: u64,
    /// The stack of the first thread, which grows.
    pub is_first_stack: bool,
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

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..512)) {
            let mut reader = Reader::default();
            let found = bytes.iter().filter_map(|byte| reader.push(*byte)).count();
            prop_assert_eq!(found, bytes.iter().filter(|byte| **byte == b'\n').count());
        }
    }
}
