//! JSON documents as printed and stored: UTF-8 that ends with a line feed, without control characters that a terminal
//! would interpret.

use serde::Serialize;
use std::fmt::Write;
use words::printable::printable;

/// One line, for programs.
///
/// # Errors
/// If the value cannot be represented in JSON.
pub fn line(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    ended(serde_json::to_vec(value))
}

/// Indented, for files that are also read by people.
///
/// # Errors
/// If the value cannot be represented in JSON.
pub fn indented(value: &impl Serialize) -> serde_json::Result<Vec<u8>> {
    ended(serde_json::to_vec_pretty(value))
}

fn ended(document: serde_json::Result<Vec<u8>>) -> serde_json::Result<Vec<u8>> {
    document.map(|text| {
        let mut text = escaped(text);
        text.push(b'\n');
        text
    })
}

/// The same document with characters that could control a terminal, or reorder the displayed text, as JSON escapes.
/// JSON itself requires this only for characters below the space; other such characters occur only in strings.
fn escaped(text: Vec<u8>) -> Vec<u8> {
    if text.is_ascii() {
        return text;
    }
    let Ok(text) = String::from_utf8(text) else { return Vec::new() };
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        let is_plain = |letter: char| printable(letter.encode_utf8(&mut [0; 4])).chars().eq([letter]);
        if letter.is_ascii() || is_plain(letter) {
            safe.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                let _ = write!(safe, "\\u{unit:04x}");
            }
        }
    }
    safe.into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_read_back_the_same() {
        let text = "a\u{1b}[2J\u{9b}m\u{202e}b \u{e0001}µs\n";
        let line = String::from_utf8(line(&text).unwrap()).unwrap();
        assert!(line.trim_end().chars().all(|letter| !letter.is_control() && letter != '\u{202e}'), "{line:?}");
        assert_eq!(serde_json::from_str::<String>(&line).unwrap(), text);
    }
}
