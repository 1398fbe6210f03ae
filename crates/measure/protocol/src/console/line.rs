//! Text lines with a checksum each, and bytes as printable characters.
//!
//! A line is `~TEXT CHECKSUM`, where the checksum is CRC-32 (IEEE) of the text, in eight hexadecimal digits.
//! Interfering output damages the line that it hits and no other.

/// First character of a line.
pub const MARK: char = '~';
const CHECKSUM_DIGITS: usize = 8;
/// More than the longest text.
const TEXT_BYTES_MAX: usize = 512;
/// Longer lines are ignored, whatever the kernel wrote before the mark.
const LINE_BYTES_MAX: usize = 8 << 10;
const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// A complete line with its checksum.
pub fn sealed(text: &str) -> String {
    format!("{MARK}{text} {}\r\n", checksum(text))
}

/// The text of an undamaged line, whatever surrounds it.
pub fn opened(line: &str) -> Option<&str> {
    if line.len() > LINE_BYTES_MAX {
        return None;
    }
    line.match_indices(' ').find_map(|(blank, _)| {
        let sum = line.get(blank + 1..blank + 1 + CHECKSUM_DIGITS)?;
        if !sum.bytes().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let sum = u32::from_str_radix(sum, 16).ok()?;
        // The first mark from which the text is valid; marks further back than the longest text are not tried.
        let marks = line[..blank].rmatch_indices(MARK).map(|(mark, _)| mark + 1);
        let texts = marks.take_while(|start| blank - start <= TEXT_BYTES_MAX).map(|start| &line[start..blank]);
        texts.filter(|text| crc32fast::hash(text.as_bytes()) == sum).last()
    })
}

fn checksum(text: &str) -> String {
    format!("{:08x}", crc32fast::hash(text.as_bytes()))
}

/// Encodes bytes as base64 (RFC 4648, with padding).
pub fn base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for piece in bytes.chunks(3) {
        let word = piece.iter().fold(0u32, |word, byte| word << 8 | u32::from(*byte)) << (8 * (3 - piece.len()));
        for place in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * place)) as usize & 63];
            text.push(if place > piece.len() { '=' } else { char::from(letter) });
        }
    }
    text
}

/// Decodes base64.
pub fn from_base64(text: &str) -> Option<Vec<u8>> {
    if !text.len().is_multiple_of(4) {
        return None;
    }
    let letters = text.strip_suffix("==").or_else(|| text.strip_suffix('=')).unwrap_or(text).as_bytes();
    let mut bytes = Vec::with_capacity(letters.len() * 3 / 4);
    for piece in letters.chunks(4) {
        let mut word = 0u32;
        for letter in piece {
            word = word << 6 | value(*letter)?;
        }
        word <<= 6 * (4 - piece.len());
        bytes.extend_from_slice(&word.to_be_bytes()[1..piece.len()]);
    }
    Some(bytes)
}

fn value(letter: u8) -> Option<u32> {
    Some(u32::from(match letter {
        b'A'..=b'Z' => letter - b'A',
        b'a'..=b'z' => letter - b'a' + 26,
        b'0'..=b'9' => letter - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn letters_are_those_of_everybody() {
        for (plain, letters) in [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")] {
            assert_eq!(base64(plain.as_bytes()), letters);
            assert_eq!(from_base64(letters).unwrap(), plain.as_bytes());
        }
    }

    #[test]
    fn text_around_a_line_is_ignored_and_text_inside_damages_it() {
        let line = sealed("M 1 2-3");
        let line = line.trim_end();
        assert_eq!(opened(&format!("[   12.345678] usb 1-1: ~ new{line}")), Some("M 1 2-3"));
        assert_eq!(opened(&format!("{line}[   12.345678] usb 1-1: new")), Some("M 1 2-3"));
        assert_eq!(opened(&line.replace('M', "[    1.0] hello")), None);
        assert_eq!(opened(&line.replace(" 1 ", " 2 ")), None);
    }

    /// Such a line took minutes when every mark was tried with every following space.
    #[test]
    fn a_line_of_marks_and_sums_costs_no_more_than_its_length() {
        assert_eq!(opened(&"~".repeat(64 << 10)), None);
        assert_eq!(opened(&"~ deadbeef".repeat(64 << 10)), None);
        assert_eq!(opened(&"~ deadbeef".repeat(800)), None);
    }

    proptest! {
        #[test]
        fn bytes_come_back(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            prop_assert_eq!(from_base64(&base64(&bytes)), Some(bytes));
        }

        #[test]
        fn any_text_is_a_line_or_none(text in ".{0,200}") {
            let _ = opened(&text);
            let _ = opened(&format!("~{text}"));
            let _ = from_base64(&text);
        }

        #[test]
        fn a_flipped_bit_never_passes(at in 0usize..60, bit in 0u8..7) {
            let line = sealed(&format!("A 7 1/1 {}", base64(b"some bytes of a frame")));
            let mut spoilt = line.clone().into_bytes();
            let at = at % (spoilt.len() - 2);
            spoilt[at] ^= 1 << bit;
            let spoilt = String::from_utf8_lossy(&spoilt).into_owned();
            prop_assert!(spoilt.lines().all(|line| opened(line).is_none()));
        }
    }
}
