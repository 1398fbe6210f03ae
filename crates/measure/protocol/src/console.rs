//! Questions and answers over a console that the kernel also prints to.
//!
//! The host asks, the board answers, one message, called a letter, at a time. A letter is compressed and split into
//! pieces that each fit one checksummed [`line`]. Interfering output only damages the pieces that it hits, which are
//! requested again: [`letter`].

pub mod letter;
pub mod line;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the lines and letters and their contents.
pub const CONSOLE_VERSION: u32 = 2;
/// Largest decompressed letter.
pub const LETTER_BYTES_MAX: usize = 32 << 20;
const LEVEL: u8 = 6;

/// A request of the host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Run a program to its end; the bytes of the letter are its input.
    Run { program: String, arguments: Vec<String> },
    /// Send at most this number of bytes of the spool's stream from this offset.
    Read { offset: u64, bytes_max: u64 },
    /// A line for the spooler.
    Send { line: String },
    /// End the conversation.
    Bye,
}

/// An answer of the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The program's exit, and the last lines of its standard error; the bytes of the letter are its output.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        complaints: Vec<String>,
    },
    /// The bytes of the letter are the requested ones; `written` is the total so far.
    Stretch {
        written: u64,
        end: Option<StreamEnd>,
    },
    Done,
    /// The request cannot be fulfilled, now or later.
    Refused {
        why: String,
    },
}

/// The end of a stream: the meter's exit, its last output, and the total number of bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEnd {
    pub how: String,
    pub bytes: u64,
    pub words: Vec<String>,
}

/// Packs a letter: a question or an answer, and bytes.
pub fn pack(head: &impl Serialize, bytes: &[u8]) -> Vec<u8> {
    let mut letter = serde_json::to_vec(head).expect("questions and answers have only string keys");
    letter.push(b'\n');
    letter.extend_from_slice(bytes);
    compress_to_vec_zlib(&letter, LEVEL)
}

/// Unpacks a letter; `None` if it is invalid.
pub fn unpack<T: DeserializeOwned>(letter: &[u8]) -> Option<(T, Vec<u8>)> {
    let mut head = decompress_to_vec_zlib_with_limit(letter, LETTER_BYTES_MAX).ok()?;
    let end = head.iter().position(|byte| *byte == b'\n')?;
    let bytes = head.split_off(end + 1);
    Some((serde_json::from_slice(&head).ok()?, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_question_comes_back_with_its_bytes() {
        let question = Question::Run { program: "./meter".into(), arguments: vec!["facts".into(), "a\nb".into()] };
        assert_eq!(unpack(&pack(&question, b"in\nput")), Some((question, b"in\nput".to_vec())));
        let end = StreamEnd { how: "code 0".into(), bytes: 3, words: vec!["so".into()] };
        let answer = Answer::Stretch { written: 3, end: Some(end) };
        assert_eq!(unpack(&pack(&answer, b"")), Some((answer, Vec::new())));
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_letter_or_none(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
            let _ = unpack::<Answer>(&bytes);
            let _ = unpack::<Question>(&compress_to_vec_zlib(&bytes, LEVEL));
        }
    }
}
