//! Lines of a client, one message each, of limited length.

use std::io::{self, BufRead};

/// Bytes of a message.
pub const LINE_BYTES_MAX: usize = 1 << 20;

#[derive(Debug, PartialEq, Eq)]
pub enum Line {
    /// Without its line feed.
    Message(Vec<u8>),
    /// It was longer than [`LINE_BYTES_MAX`], and is read past.
    TooLong,
}

/// The next line; `None` at the end.
///
/// # Errors
/// Any error of the reader.
pub fn next_line(reader: &mut impl BufRead) -> io::Result<Option<Line>> {
    let mut message = Vec::new();
    let (mut is_too_long, mut has_begun) = (false, false);
    loop {
        let piece = reader.fill_buf()?;
        if piece.is_empty() {
            return Ok(has_begun.then(|| ended(message, is_too_long)));
        }
        has_begun = true;
        let end = piece.iter().position(|byte| *byte == b'\n');
        let part = &piece[..end.unwrap_or(piece.len())];
        is_too_long |= message.len() + part.len() > LINE_BYTES_MAX;
        if !is_too_long {
            message.extend_from_slice(part);
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(Some(ended(message, is_too_long)));
        }
    }
}

fn ended(message: Vec<u8>, is_too_long: bool) -> Line {
    if is_too_long { Line::TooLong } else { Line::Message(message) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::BufReader;

    fn lines(bytes: &[u8], capacity: usize) -> Vec<Line> {
        let mut reader = BufReader::with_capacity(capacity, bytes);
        std::iter::from_fn(|| next_line(&mut reader).unwrap()).collect()
    }

    #[test]
    fn a_line_that_is_too_long_is_read_past() {
        let long = [vec![b'x'; LINE_BYTES_MAX + 1], b"\nnext\n".to_vec()].concat();
        assert_eq!(lines(&long, 4096), [Line::TooLong, Line::Message(b"next".to_vec())]);
        let longest = [vec![b'x'; LINE_BYTES_MAX], b"\n".to_vec()].concat();
        assert_eq!(lines(&longest, 4096), [Line::Message(vec![b'x'; LINE_BYTES_MAX])]);
    }

    proptest! {
        #[test]
        fn any_bytes_are_their_lines_however_they_arrive(bytes: Vec<u8>, capacity in 1usize..9) {
            let mut expected: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
            expected.pop_if(|last| last.is_empty());
            let found = lines(&bytes, capacity);
            let expected: Vec<Line> = expected.into_iter().map(|line| Line::Message(line.to_vec())).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
