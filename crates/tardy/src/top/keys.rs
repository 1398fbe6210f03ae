//! Keys, from the bytes that a terminal sends for them.

/// A key with a meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Key {
    Quit,
    Escape,
    Enter,
    Up,
    Down,
    PageUp,
    PageDown,
    Sort,
    Pause,
}

const ESCAPE: u8 = 0x1b;
const CTRL_C: u8 = 0x03;
/// Longer sequences are no keys.
const SEQUENCE_BYTES_MAX: usize = 16;

/// Bytes that belong to no key yet.
#[derive(Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
}

impl Keys {
    /// The keys in these bytes and those before them. The beginning of a sequence waits for its rest.
    pub fn read(&mut self, bytes: &[u8]) -> Vec<Key> {
        self.bytes.extend_from_slice(bytes);
        let mut keys = Vec::new();
        while let Some((length, key)) = first(&self.bytes) {
            keys.extend(key);
            self.bytes.drain(..length);
        }
        keys
    }

    /// Whether the beginning of a sequence waits.
    pub fn waits(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// No more bytes came: the escape that waits was the key itself.
    pub fn quiet(&mut self) -> Option<Key> {
        let waiting = std::mem::take(&mut self.bytes);
        (waiting == [ESCAPE]).then_some(Key::Escape)
    }
}

/// The first key and its length; `None` if its rest is still to come.
fn first(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    let key = match *bytes.first()? {
        ESCAPE => return sequence(bytes),
        b'q' | CTRL_C => Some(Key::Quit),
        b's' => Some(Key::Sort),
        b'p' => Some(Key::Pause),
        b'k' => Some(Key::Up),
        b'j' => Some(Key::Down),
        b'\r' | b'\n' => Some(Key::Enter),
        _ => None,
    };
    Some((1, key))
}

fn sequence(bytes: &[u8]) -> Option<(usize, Option<Key>)> {
    match *bytes.get(1)? {
        b'[' | b'O' => {}
        _ => return Some((1, Some(Key::Escape))),
    }
    let end = bytes.iter().skip(2).position(|byte| (0x40..=0x7e).contains(byte)).map(|at| at + 3);
    let Some(length) = end else {
        return (bytes.len() > SEQUENCE_BYTES_MAX).then_some((bytes.len(), None));
    };
    let key = match &bytes[2..length] {
        b"A" => Some(Key::Up),
        b"B" => Some(Key::Down),
        b"5~" => Some(Key::PageUp),
        b"6~" => Some(Key::PageDown),
        _ => None,
    };
    Some((length, key))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_found_in_any_pieces_of_their_bytes() {
        let mut keys = Keys::default();
        assert_eq!(
            keys.read(b"qs\x1b[A\x1bOB\x1b[6~\rx"),
            [Key::Quit, Key::Sort, Key::Up, Key::Down, Key::PageDown, Key::Enter]
        );
        assert_eq!((keys.read(b"\x1b"), keys.waits()), (vec![], true));
        assert_eq!((keys.read(b"[B"), keys.waits()), (vec![Key::Down], false));
        assert_eq!((keys.read(b"\x1b"), keys.quiet(), keys.waits()), (vec![], Some(Key::Escape), false));
        assert_eq!(keys.read(b"\x1bq"), [Key::Escape, Key::Quit]);
        assert_eq!(keys.read(b"\x03"), [Key::Quit]);
    }

    #[test]
    fn a_sequence_without_an_end_holds_no_key_back_for_ever() {
        let mut keys = Keys::default();
        keys.read(b"\x1b[");
        keys.read(&[b'1'; 20]);
        assert_eq!(keys.read(b"q"), [Key::Quit]);
    }
}
