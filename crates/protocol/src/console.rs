//! Questions and answers through a console on which the kernel speaks as well.
//!
//! The host asks, the board answers, one letter at a time. A letter is compressed and cut into pieces that each fit one
//! checked [`line`]; whatever falls between them costs the pieces it hits, which are asked for again: [`letter`].

pub mod letter;
pub mod line;

use miniz_oxide::deflate::compress_to_vec_zlib;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Version of the lines, the letters and what is in them.
pub const CONSOLE_VERSION: u32 = 1;
/// Longest letter that is opened.
pub const LETTER_BYTES_MAX: usize = 32 << 20;
const LEVEL: u8 = 6;

/// What the host asks of the board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Question {
    /// Run a program to its end; the bytes of the letter are its input.
    Run { program: String, arguments: Vec<String> },
    /// The stream of the spool from this byte on, at most so many bytes.
    Read { offset: u64, bytes_max: u64 },
    /// A line for the spooler.
    #[serde(rename = "tell")]
    Send { line: String },
    /// It was the last one.
    Bye,
}

/// What the board answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// How the program ended, and the last lines of its standard error; the bytes of the letter are its output.
    Ended {
        code: Option<i32>,
        signal: Option<i32>,
        complaints: Vec<String>,
    },
    /// The bytes of the letter are what was asked for; there are `written` in all so far.
    Stretch {
        written: u64,
        end: Option<StreamEnd>,
    },
    Done,
    /// It cannot be had, now or later.
    Refused {
        why: String,
    },
}

/// The end of a stream: `how` the meter ended, its last words, and how many bytes there were.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StreamEnd {
    pub how: String,
    pub bytes: u64,
    pub words: Vec<String>,
}

/// A letter: a question or an answer, and bytes.
pub fn pack(head: &impl Serialize, bytes: &[u8]) -> Vec<u8> {
    let mut letter = serde_json::to_vec(head).expect("questions and answers have only string keys");
    letter.push(b'\n');
    letter.extend_from_slice(bytes);
    compress_to_vec_zlib(&letter, LEVEL)
}

/// What is in a letter; nothing when it is none.
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
