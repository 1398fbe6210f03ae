//! Frames: messages and file chunks over any byte stream, checksummed, numbered, resynchronising after garbage.
//!
//! A frame is `magic[4] kind:u8 version:u8 zero:u16 length:u32 sequence:u32 crc:u32 payload[length]`, little-endian. The
//! checksum is CRC-32 (IEEE) over everything but the magic and itself. The same bytes go through a pipe, ssh or a UART
//! with kernel messages in between, and lie in `stream.tardy` of an archive; any prefix can be read.

use crate::STREAM_VERSION;
use crate::message::Message;

const MAGIC: [u8; 4] = [0xF7, b'T', 0xD1, b'Y'];
/// What stands before a payload.
pub const HEADER_BYTES: usize = 20;
/// Longest payload a reader accepts.
pub const PAYLOAD_BYTES_MAX: usize = 4 << 20;
/// File data carried by one frame.
pub const CHUNK_BYTES: usize = 64 << 10;

const KIND_MESSAGE: u8 = 1;
/// A frame with a stretch of a file; its payload begins with the number of the file.
pub const KIND_CHUNK: u8 = 2;

/// Turns messages and chunks into frames. Holds the sequence number, so one encoder serves one stream.
#[derive(Debug, Clone, Default)]
pub struct Encoder {
    sequence: u32,
}

impl Encoder {
    /// A frame with one message.
    pub fn message(&mut self, message: &Message) -> Vec<u8> {
        let payload = serde_json::to_vec(message).expect("a message has only string keys");
        self.frame(KIND_MESSAGE, &[&payload])
    }

    /// A frame with a stretch of a file announced by [`Message::FileBegin`].
    pub fn chunk(&mut self, file: u32, offset: u64, data: &[u8]) -> Vec<u8> {
        self.frame(KIND_CHUNK, &[&file.to_le_bytes(), &offset.to_le_bytes(), data])
    }

    /// Gives a frame of another stream the next number of this one.
    pub fn renumber(&mut self, frame: &mut [u8]) {
        frame[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        let crc = checksum(frame);
        frame[16..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        self.sequence = self.sequence.wrapping_add(1);
    }

    fn frame(&mut self, kind: u8, parts: &[&[u8]]) -> Vec<u8> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        assert!(length <= PAYLOAD_BYTES_MAX, "a frame of {length} bytes would be refused by every reader");
        let mut bytes = Vec::with_capacity(HEADER_BYTES + length);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&[kind, STREAM_VERSION as u8, 0, 0]);
        bytes.extend_from_slice(&(length as u32).to_le_bytes());
        bytes.extend_from_slice(&self.sequence.to_le_bytes());
        bytes.extend_from_slice(&[0; 4]);
        for part in parts {
            bytes.extend_from_slice(part);
        }
        let crc = checksum(&bytes);
        bytes[16..20].copy_from_slice(&crc.to_le_bytes());
        self.sequence = self.sequence.wrapping_add(1);
        bytes
    }
}

fn checksum(frame: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&frame[4..16]);
    hasher.update(&frame[HEADER_BYTES..]);
    hasher.finalize()
}

/// What came out of the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Message(Message),
    Chunk {
        file: u32,
        offset: u64,
        data: Vec<u8>,
    },
    /// A sound frame of a kind or with a message this version does not know.
    Unknown {
        why: String,
    },
    /// Bytes that belong to no frame: noise on the line, or a damaged frame.
    Garbage {
        bytes: Vec<u8>,
    },
    /// The sequence numbers jumped.
    FramesLost {
        count: u32,
    },
}

/// Finds the frames in a byte stream that arrives in pieces of any size.
#[derive(Debug, Default)]
pub struct Decoder {
    pending: Vec<u8>,
    garbage: Vec<u8>,
    next_sequence: Option<u32>,
}

impl Decoder {
    /// Takes bytes and returns the items that are complete now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Item> {
        self.pending.extend_from_slice(bytes);
        let mut items = Vec::new();
        let mut at = 0;
        loop {
            let rest = &self.pending[at..];
            match parse(rest) {
                Parsed::Frame { kind, sequence, payload, length } => {
                    flush(&mut self.garbage, &mut items);
                    if let Some(expected) = self.next_sequence
                        && expected != sequence
                    {
                        items.push(Item::FramesLost { count: sequence.wrapping_sub(expected) });
                    }
                    self.next_sequence = Some(sequence.wrapping_add(1));
                    items.push(interpret(kind, payload));
                    at += length;
                }
                Parsed::Incomplete => break,
                Parsed::Noise(count) => {
                    self.garbage.extend_from_slice(&rest[..count]);
                    at += count;
                    if self.garbage.len() > CHUNK_BYTES {
                        flush(&mut self.garbage, &mut items);
                    }
                }
            }
        }
        self.pending.drain(..at);
        items
    }

    /// Ends the stream: what is left is a frame cut short, or noise.
    pub fn finish(mut self) -> Vec<Item> {
        let mut items = Vec::new();
        // A damaged length can make the decoder wait for bytes that never come while sound frames lie behind it.
        while !self.pending.is_empty() {
            let first = self.pending.remove(0);
            self.garbage.push(first);
            items.extend(self.push(&[]));
        }
        flush(&mut self.garbage, &mut items);
        items
    }
}

fn flush(garbage: &mut Vec<u8>, items: &mut Vec<Item>) {
    if !garbage.is_empty() {
        items.push(Item::Garbage { bytes: std::mem::take(garbage) });
    }
}

/// What stands at the front of some bytes.
pub enum Parsed<'a> {
    Frame { kind: u8, sequence: u32, payload: &'a [u8], length: usize },
    Incomplete,
    Noise(usize),
}

/// Reads the front of some bytes, which is a frame, part of one, or so many bytes of something else.
pub fn parse(bytes: &[u8]) -> Parsed<'_> {
    if bytes.is_empty() {
        return Parsed::Incomplete;
    }
    let start = (0..bytes.len()).find(|at| {
        let seen = &bytes[*at..bytes.len().min(at + MAGIC.len())];
        MAGIC.starts_with(seen)
    });
    match start {
        None => return Parsed::Noise(bytes.len()),
        Some(0) => {}
        Some(at) => return Parsed::Noise(at),
    }
    if bytes.len() < HEADER_BYTES {
        return Parsed::Incomplete;
    }
    let word = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    let payload_length = word(8) as usize;
    if payload_length > PAYLOAD_BYTES_MAX {
        return Parsed::Noise(1);
    }
    let length = HEADER_BYTES + payload_length;
    if bytes.len() < length {
        return Parsed::Incomplete;
    }
    if checksum(&bytes[..length]) != word(16) {
        return Parsed::Noise(1);
    }
    Parsed::Frame { kind: bytes[4], sequence: word(12), payload: &bytes[HEADER_BYTES..length], length }
}

fn interpret(kind: u8, payload: &[u8]) -> Item {
    match kind {
        KIND_MESSAGE => match serde_json::from_slice(payload) {
            Ok(message) => Item::Message(message),
            Err(error) => Item::Unknown { why: format!("a message this version does not know: {error}") },
        },
        KIND_CHUNK if payload.len() >= 12 => {
            let (head, data) = payload.split_at(12);
            let file = u32::from_le_bytes([head[0], head[1], head[2], head[3]]);
            let offset = u64::from_le_bytes([head[4], head[5], head[6], head[7], head[8], head[9], head[10], head[11]]);
            Item::Chunk { file, offset, data: data.to_vec() }
        }
        other => Item::Unknown { why: format!("a frame of kind {other}, {} bytes", payload.len()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Loss, Message};
    use proptest::prelude::*;

    fn loss(count: u64) -> Message {
        Message::Loss(Loss { kind: "trace events".to_owned().into(), count, detail: String::new() })
    }

    fn decode(bytes: &[u8]) -> Vec<Item> {
        let mut decoder = Decoder::default();
        let mut items = decoder.push(bytes);
        items.extend(decoder.finish());
        items
    }

    #[test]
    fn noise_between_frames_is_kept_apart() {
        let mut encoder = Encoder::default();
        let mut bytes = encoder.message(&loss(1));
        bytes.extend_from_slice(b"[   12.3] random: crng init done\n");
        bytes.extend(encoder.chunk(7, 4096, b"data"));
        assert_eq!(
            decode(&bytes),
            vec![
                Item::Message(loss(1)),
                Item::Garbage { bytes: b"[   12.3] random: crng init done\n".to_vec() },
                Item::Chunk { file: 7, offset: 4096, data: b"data".to_vec() },
            ]
        );
    }

    #[test]
    fn a_damaged_frame_costs_only_itself() {
        let mut encoder = Encoder::default();
        let first = encoder.message(&loss(1));
        let mut second = encoder.message(&loss(2));
        let third = encoder.message(&loss(3));
        let last = second.len() - 1;
        second[last] ^= 1;
        let items = decode(&[first, second, third].concat());
        assert_eq!(items.first(), Some(&Item::Message(loss(1))));
        assert_eq!(items.last(), Some(&Item::Message(loss(3))));
        assert!(items.contains(&Item::FramesLost { count: 1 }), "{items:?}");
    }

    #[test]
    fn a_length_damaged_upwards_does_not_swallow_the_rest() {
        let mut encoder = Encoder::default();
        let mut first = encoder.message(&loss(1));
        first[10] = 0x01;
        let items = decode(&[first, encoder.message(&loss(2))].concat());
        assert_eq!(items.last(), Some(&Item::Message(loss(2))));
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_items(cuts in proptest::collection::vec(1usize..40, 0..60)) {
            let mut encoder = Encoder::default();
            let bytes = [encoder.message(&loss(1)), b"\xF7noise\xF7T".to_vec(), encoder.chunk(1, 2, &[3; 100]), encoder.message(&loss(9))].concat();
            let mut decoder = Decoder::default();
            let mut items = Vec::new();
            let mut at = 0;
            for cut in cuts {
                let end = bytes.len().min(at + cut);
                items.extend(decoder.push(&bytes[at..end]));
                at = end;
            }
            items.extend(decoder.push(&bytes[at..]));
            items.extend(decoder.finish());
            prop_assert_eq!(items, decode(&bytes));
        }

        #[test]
        fn random_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400)) {
            decode(&bytes);
        }

        #[test]
        fn any_prefix_gives_the_frames_it_holds(cut in 0usize..1000) {
            let mut encoder = Encoder::default();
            let frames: Vec<Vec<u8>> = (0..8).map(|n| encoder.message(&loss(n))).collect();
            let bytes = frames.concat();
            let cut = cut.min(bytes.len());
            let whole = frames.iter().scan(0, |end, frame| { *end += frame.len(); Some(*end) }).filter(|end| *end <= cut).count();
            let messages = decode(&bytes[..cut]).into_iter().filter(|item| matches!(item, Item::Message(_))).count();
            prop_assert_eq!(messages, whole);
        }
    }
}
