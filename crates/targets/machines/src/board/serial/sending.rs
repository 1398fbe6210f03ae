//! Sends the meter over a console: compressed, in blocks of text, each repeated until it has arrived.

use super::dialogue::Dialogue;
use super::error::SerialError;
use super::session_message::SessionMessage;
use crate::board::hex;
use crate::stop::StopRequests;
use miniz_oxide::deflate::compress_to_vec;
use protocol::console::line::base64;
use sha2::{Digest, Sha256};
use std::time::{Duration, Instant};

/// Characters of a block: with framing they fit the 4095 that a terminal accepts as one line.
const BLOCK_LETTERS: usize = 3000;
const OCTAL_LETTERS: usize = 4;
/// A slow board starts two programs per block.
const BLOCK_PATIENCE: Duration = Duration::from_secs(1);
const TRIES: u32 = 10;
const REPORT_EVERY: Duration = Duration::from_secs(10);
const STORE_LIMIT: Duration = Duration::from_secs(120);
const LEVEL: u8 = 9;

/// The board's tools to decode text to bytes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tools {
    /// `base64`, `openssl` or `octal`.
    pub letters: String,
    /// Whether it can decompress gzip.
    pub unpacks: bool,
    /// `cksum`, `sha256sum` or `none`; with `none` only lengths are compared.
    pub sums: String,
}

impl Tools {
    /// Parses the session's report of them.
    pub fn parse(words: &str) -> Option<Self> {
        let mut words = words.strip_prefix("tools ")?.split(' ');
        let (letters, packing, sums) = (words.next()?, words.next()?, words.next()?);
        Some(Self { letters: letters.into(), unpacks: packing == "gzip", sums: sums.into() })
    }

    /// Checksum and length, as the board's shell compares them.
    fn summed(&self, bytes: &[u8]) -> String {
        let sum = match self.sums.as_str() {
            "cksum" => cksum(bytes).to_string(),
            "sha256sum" => hex(&Sha256::digest(bytes)),
            _ => "none".into(),
        };
        format!("{sum} {}", bytes.len())
    }
}

/// Parameters of sending that do not depend on the board.
pub struct Manner<'a> {
    pub baud: u32,
    pub stop: &'a StopRequests,
    /// Reports progress.
    pub report: &'a dyn Fn(&str),
}

/// Sends a program under this name.
///
/// # Errors
/// [`SerialError`].
pub fn send(
    dialogue: &mut Dialogue,
    (name, bytes): (&str, &[u8]),
    tools: &Tools,
    manner: &Manner,
) -> Result<(), SerialError> {
    let sent = send_blocks(dialogue, (name, bytes), tools, manner);
    if sent.is_err() {
        // A session that still waits for blocks accepts nothing else.
        let _ = dialogue.say("stop");
    }
    sent
}

fn send_blocks(
    dialogue: &mut Dialogue,
    (name, bytes): (&str, &[u8]),
    tools: &Tools,
    manner: &Manner,
) -> Result<(), SerialError> {
    let Manner { baud, stop, report } = manner;
    let (packed, packing) = if tools.unpacks { (gzip(bytes), "gzip") } else { (bytes.to_vec(), "none") };
    let blocks = blocks(&packed, tools);
    let letters: usize = blocks.iter().map(String::len).sum();
    let time = |letters: usize| Duration::from_micros(letters as u64 * 10_000_000 / u64::from(*baud));
    report(&format!("sending the meter: {} kB in letters, about {} s", letters / 1000, time(letters).as_secs() + 1));
    dialogue.say(&format!("receive {name}"))?;
    // A block takes its time on the line; on a noisy line some are sent twice.
    let patience = BLOCK_PATIENCE + 2 * time(BLOCK_LETTERS + 100);
    let (begun, mut reported) = (Instant::now(), Instant::now());
    let (mut have, mut attempt, mut failed) = (0, 0, 0);
    while let Some(block) = blocks.get(have as usize) {
        if stop.count() > 0 {
            return Err(SerialError::Stopped);
        }
        attempt += 1;
        dialogue.say(&format!("{attempt} {} {} {block}", have + 1, tools.summed(block.as_bytes())))?;
        let got = dialogue.acknowledged(attempt, patience)?;
        match got.filter(|got| *got > have && (*got as usize) <= blocks.len()) {
            Some(got) => (have, failed) = (got, 0),
            None if failed == TRIES => {
                return Err(SerialError::BlockLost { block: have + 1, tries: TRIES });
            }
            None => {
                failed += 1;
                if have == 0 {
                    // Perhaps this line was lost.
                    dialogue.say(&format!("receive {name}"))?;
                }
            }
        }
        if reported.elapsed() >= REPORT_EVERY {
            reported = Instant::now();
            let left = begun.elapsed().as_secs_f64() / f64::from(have.max(1)) * (blocks.len() as f64 - f64::from(have));
            report(&format!("sending the meter: {} of {} blocks, {left:.0} s left", have, blocks.len()));
        }
    }
    dialogue.say(&format!("whole {} {packing}", tools.summed(bytes)))?;
    dialogue.listen(STORE_LIMIT, stop, |words| match SessionMessage::parse(words) {
        SessionMessage::Stored => Some(Ok(())),
        SessionMessage::Broken(broken) => Some(Err(broken.into())),
        _ => None,
    })?
}

fn blocks(bytes: &[u8], tools: &Tools) -> Vec<String> {
    if tools.letters == "octal" {
        let octal = |piece: &[u8]| piece.iter().map(|byte| format!("\\{byte:03o}")).collect();
        return bytes.chunks(BLOCK_LETTERS / OCTAL_LETTERS).map(octal).collect();
    }
    bytes.chunks(BLOCK_LETTERS / 4 * 3).map(base64).collect()
}

/// A gzip file (RFC 1952) with these bytes.
fn gzip(bytes: &[u8]) -> Vec<u8> {
    // Deflated, no name, no time, Unix.
    let mut file = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 3];
    file.extend(compress_to_vec(bytes, LEVEL));
    file.extend(crc32fast::hash(bytes).to_le_bytes());
    file.extend((bytes.len() as u32).to_le_bytes());
    file
}

/// The checksum of POSIX cksum: CRC-32, most significant bit first, over the bytes and their count.
pub fn cksum(bytes: &[u8]) -> u32 {
    let length = (bytes.len() as u64).to_le_bytes();
    let used = 8 - (bytes.len() as u64).leading_zeros() as usize / 8;
    let step = |sum: u32, byte: &u8| {
        (0..8)
            .fold(sum ^ u32::from(*byte) << 24, |sum, _| if sum >> 31 == 1 { sum << 1 ^ 0x04c1_1db7 } else { sum << 1 })
    };
    !bytes.iter().chain(&length[..used]).fold(0, step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::{Command, Stdio};

    fn piped(words: &[&str], input: &[u8]) -> Vec<u8> {
        let mut child =
            Command::new(words[0]).args(&words[1..]).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap().stdout
    }

    #[test]
    fn checksums_are_those_of_cksum() {
        assert_eq!(cksum(b""), 4_294_967_295);
        assert_eq!(cksum(b"123456789"), 930_766_865);
        let bytes: Vec<u8> = (0..70_000u32).map(|number| (number.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
        let output = String::from_utf8(piped(&["cksum"], &bytes)).unwrap();
        let tools = |sums: &str| Tools { sums: sums.into(), ..Tools::default() };
        assert_eq!(output.trim(), tools("cksum").summed(&bytes));
        assert!(tools("sha256sum").summed(b"abc").starts_with("ba7816bf8f01cfea"));
        assert_eq!(tools("none").summed(b"abc"), "none 3");
    }

    #[test]
    fn gzip_unpacks_a_packed_file() {
        let bytes = b"tardy".repeat(5000);
        let packed = gzip(&bytes);
        assert!(packed.len() < 1000);
        assert_eq!(piped(&["gzip", "-dc"], &packed), bytes);
    }

    #[test]
    fn a_block_fits_a_line_of_a_terminal_whatever_decodes_it() {
        for letters in ["base64", "octal"] {
            let tools = Tools { letters: letters.into(), ..Tools::default() };
            let blocks = blocks(&[b'%'; 10_000], &tools);
            assert!(blocks.iter().all(|block| block.len() <= BLOCK_LETTERS) && blocks.len() > 1);
        }
        let octal = Tools { letters: "octal".into(), unpacks: false, sums: "none".into() };
        assert_eq!(blocks(b"%\n", &octal), ["\\045\\012"]);
        assert_eq!(Tools::parse("tools octal gzip none"), Some(Tools { unpacks: true, ..octal }));
    }
}
