//! Forwards frames without decoding them: drops the dispensable ones and renumbers the rest.

use archive::frame::{Encoder, HEADER_BYTES, KIND_CHUNK, Parsed, parse};
use archive::message::Message;

/// The next part of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// A frame with a message.
    Message { frame: Vec<u8>, for_showing_only: bool },
    /// A frame with a stretch of this file.
    Chunk { file: u32, frame: Vec<u8> },
    /// Bytes outside any frame.
    Noise(Vec<u8>),
}

/// Start of the payload of [`Message::Progress`].
const PROGRESS: &[u8] = b"{\"progress\":";

/// Splits a stream that arrives in pieces of any size into frames.
#[derive(Debug, Default)]
pub struct Splitter {
    pending: Vec<u8>,
}

impl Splitter {
    /// Takes bytes and returns the pieces that are now complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Piece> {
        self.pending.extend_from_slice(bytes);
        let mut pieces = Vec::new();
        let mut at = 0;
        loop {
            let rest = &self.pending[at..];
            let (piece, length) = match parse(rest) {
                Parsed::Incomplete => break,
                Parsed::Noise(count) => (Piece::Noise(rest[..count].to_vec()), count),
                Parsed::Frame { kind, payload, length, .. } => {
                    let frame = rest[..length].to_vec();
                    let file = payload.get(..4).filter(|_| kind == KIND_CHUNK);
                    let piece = match file.and_then(|file| file.try_into().ok()) {
                        Some(file) => Piece::Chunk { file: u32::from_le_bytes(file), frame },
                        None => Piece::Message { for_showing_only: payload.starts_with(PROGRESS), frame },
                    };
                    (piece, length)
                }
            };
            pieces.push(piece);
            at += length;
        }
        self.pending.drain(..at);
        pieces
    }

    /// The bytes after the last complete frame.
    pub fn rest(self) -> Vec<u8> {
        self.pending
    }
}

/// Numbers the frames of a stream into which others are inserted.
#[derive(Debug, Clone, Default)]
pub struct Renumbering(Encoder);

impl Renumbering {
    /// Gives a frame its number in this stream. Anything shorter than a frame is left unchanged.
    pub fn pass(&mut self, mut frame: Vec<u8>) -> Vec<u8> {
        if frame.len() >= HEADER_BYTES {
            self.0.renumber(&mut frame);
        }
        frame
    }

    /// Encodes an inserted message.
    pub fn message(&mut self, message: &Message) -> Vec<u8> {
        self.0.message(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::frame::{Decoder, Item};
    use archive::message::Loss;
    use proptest::prelude::*;

    fn loss(count: u64) -> Message {
        Message::Loss(Loss { kind: "x".to_owned().into(), count, detail: String::new() })
    }

    #[test]
    fn omitted_frames_leave_no_hole_in_the_numbers() {
        let mut encoder = Encoder::default();
        let progress = Message::Progress { threads: Vec::new(), snapshots: 0 };
        let stream = [
            encoder.message(&loss(1)),
            encoder.message(&progress),
            encoder.chunk(7, 0, b"trace"),
            b"noise".to_vec(),
            encoder.message(&loss(2)),
        ];
        let mut splitter = Splitter::default();
        let mut numbers = Renumbering::default();
        let mut passed = Vec::new();
        for piece in splitter.push(&stream.concat()) {
            match piece {
                Piece::Message { frame, for_showing_only: false } => passed.extend(numbers.pass(frame)),
                Piece::Message { .. } => {}
                Piece::Chunk { file, frame } => {
                    assert_eq!(file, 7);
                    passed.extend(numbers.message(&loss(9)));
                    passed.extend(numbers.pass(frame));
                }
                Piece::Noise(bytes) => assert_eq!(bytes, b"noise"),
            }
        }
        let items = Decoder::default().push(&passed);
        let chunk = Item::Chunk { file: 7, offset: 0, data: b"trace".to_vec() };
        assert_eq!(items, [Item::Message(loss(1)), Item::Message(loss(9)), chunk, Item::Message(loss(2))]);
    }

    proptest! {
        #[test]
        fn nothing_is_lost_between_the_pieces(bytes in proptest::collection::vec(any::<u8>(), 0..300), cut in 0usize..300) {
            let stream = [Encoder::default().message(&loss(3)), bytes].concat();
            let mut splitter = Splitter::default();
            let cut = cut.min(stream.len());
            let mut pieces = splitter.push(&stream[..cut]);
            pieces.extend(splitter.push(&stream[cut..]));
            let mut again: Vec<u8> = pieces
                .into_iter()
                .flat_map(|piece| match piece {
                    Piece::Message { frame, .. } | Piece::Chunk { frame, .. } => frame,
                    Piece::Noise(bytes) => bytes,
                })
                .collect();
            again.extend(splitter.rest());
            prop_assert_eq!(again, stream);
        }
    }
}
