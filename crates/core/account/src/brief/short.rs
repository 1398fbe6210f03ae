//! Texts of an archive in an answer: cut, so that no name pushes facts out of it.

use serde::Serialize;
use words::printable::printable;

/// Bytes of a name in an answer.
const NAME_BYTES: usize = 64;
/// Bytes of a path, a command or a sentence in an answer.
const TEXT_BYTES: usize = 240;
/// Bytes of the text of an error, and of its fix.
const MESSAGE_BYTES: usize = 800;
/// Two escaped halves of a character, as `\ud83d\ude00`.
const ESCAPED_BYTES: usize = 12;

/// A text of limited length; `…` ends a cut one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Short(String);

impl Short {
    /// A name.
    pub fn name(text: &str) -> Self {
        Self::cut(text, NAME_BYTES)
    }

    /// A path, a command or a sentence.
    pub fn text(text: &str) -> Self {
        Self::cut(text, TEXT_BYTES)
    }

    /// The text of an error.
    pub fn message(text: &str) -> Self {
        Self::cut(text, MESSAGE_BYTES)
    }

    fn cut(text: &str, bytes_max: usize) -> Self {
        let mut bytes = 0;
        for (at, letter) in text.char_indices() {
            bytes += in_a_string(letter);
            if bytes > bytes_max {
                return Self(format!("{}…", &text[..at]));
            }
        }
        Self(text.to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Bytes of a JSON text once characters that would control a terminal are escaped.
pub(super) fn printed_bytes(json: &str) -> usize {
    json.chars().map(printed).sum()
}

fn printed(letter: char) -> usize {
    let is_plain = letter.is_ascii() || printable(letter.encode_utf8(&mut [0; 4])).chars().eq([letter]);
    if is_plain { letter.len_utf8() } else { ESCAPED_BYTES }
}

/// Bytes of a character inside of a JSON string.
fn in_a_string(letter: char) -> usize {
    match letter {
        '"' | '\\' => 2,
        letter if letter.is_ascii_control() => 6,
        letter => printed(letter),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed_name(text: &str) -> usize {
        printed_bytes(&serde_json::to_string(&Short::name(text)).unwrap())
    }

    #[test]
    fn names_are_cut_by_the_bytes_that_they_take() {
        assert_eq!(Short::name("kworker/1:2").as_str(), "kworker/1:2");
        for letter in ["a", "\"", "\u{1b}", "\u{202e}", "µ", "\u{1f600}"] {
            let bytes = printed_name(&letter.repeat(1000));
            assert!((NAME_BYTES - ESCAPED_BYTES..NAME_BYTES + 6).contains(&bytes), "{letter:?} takes {bytes}");
        }
    }
}
