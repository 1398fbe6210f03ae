//! Frames: messages and file chunks over any byte stream, with checksum and number, resynchronising after garbage.
//!
//! A frame is `magic[4] kind:u8 version:u8 zero:u16 length:u32 sequence:u32 crc:u32 payload[length]`, little-endian.
//! The checksum is CRC-32 (IEEE) over everything except the magic and itself. The same bytes go through a pipe, ssh or
//! a UART with kernel messages in between, and are stored in `stream.tardy` of an archive; any prefix can be read.

use crate::STREAM_VERSION;
use crate::message::{Loss, LossKind, Message};

const MAGIC: [u8; 4] = [0xF7, b'T', 0xD1, b'Y'];
/// Bytes before a payload.
pub const HEADER_BYTES: usize = 20;
/// Longest payload a reader accepts.
pub const PAYLOAD_BYTES_MAX: usize = 4 << 20;
/// File data carried by one frame.
pub const CHUNK_BYTES: usize = 64 << 10;

/// Maximum file data per frame, in addition to the number of the file and the offset.
const CHUNK_DATA_MAX: usize = PAYLOAD_BYTES_MAX - CHUNK_HEAD_BYTES;
const CHUNK_HEAD_BYTES: usize = 12;
/// Bytes of false frame candidates that may be scanned before received bytes must pay for more.
const CANDIDATES_BYTES: u64 = 64 << 20;
/// Bytes of false candidates that each received byte pays for.
const CANDIDATE_BYTES_PER_BYTE: u64 = 4;

const KIND_MESSAGE: u8 = 1;
/// A frame with a stretch of a file; its payload starts with the number of the file.
pub const KIND_CHUNK: u8 = 2;

/// Turns messages and chunks into frames. Holds the sequence number, so one encoder serves one stream.
#[derive(Debug, Clone, Default)]
pub struct Encoder {
    sequence: u32,
}

impl Encoder {
    /// Encodes one message: one frame, or several if a list in it exceeds a frame. A message that cannot be divided is
    /// counted as a loss.
    pub fn message(&mut self, message: &Message) -> Vec<u8> {
        let payload = serde_json::to_vec(message).expect("a message has only string keys");
        if payload.len() <= PAYLOAD_BYTES_MAX {
            return self.frame(KIND_MESSAGE, &[&payload]);
        }
        match halves(message) {
            Some(parts) => parts.iter().flat_map(|part| self.message(part)).collect(),
            None => {
                let detail = format!("{} bytes are more than a frame carries", payload.len());
                self.message(&Message::Loss(Loss { kind: LossKind::Messages, count: 1, detail }))
            }
        }
    }

    /// Encodes a stretch of a file announced by [`Message::FileBegin`]: one frame, or several if it exceeds one.
    pub fn chunk(&mut self, file: u32, offset: u64, data: &[u8]) -> Vec<u8> {
        let mut frames = self.chunk_frame(file, offset, &data[..data.len().min(CHUNK_DATA_MAX)]);
        for (number, piece) in (1..).zip(data.chunks(CHUNK_DATA_MAX).skip(1)) {
            frames.extend(self.chunk_frame(file, offset + number * CHUNK_DATA_MAX as u64, piece));
        }
        frames
    }

    fn chunk_frame(&mut self, file: u32, offset: u64, data: &[u8]) -> Vec<u8> {
        self.frame(KIND_CHUNK, &[&file.to_le_bytes(), &offset.to_le_bytes(), data])
    }

    /// Gives a frame of another stream the next sequence number of this one.
    pub fn renumber(&mut self, frame: &mut [u8]) {
        frame[12..16].copy_from_slice(&self.sequence.to_le_bytes());
        let crc = checksum(frame);
        frame[16..HEADER_BYTES].copy_from_slice(&crc.to_le_bytes());
        self.sequence = self.sequence.wrapping_add(1);
    }

    fn frame(&mut self, kind: u8, parts: &[&[u8]]) -> Vec<u8> {
        let length: usize = parts.iter().map(|part| part.len()).sum();
        debug_assert!(length <= PAYLOAD_BYTES_MAX, "a frame of {length} bytes would be refused by every reader");
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

/// Splits a message into two of half the length; `None` if it is not a list.
fn halves(message: &Message) -> Option<[Message; 2]> {
    fn cut<T: Clone>(list: &[T]) -> Option<[Vec<T>; 2]> {
        let (first, second) = list.split_at(list.len() / 2);
        (!first.is_empty()).then(|| [first.to_vec(), second.to_vec()])
    }
    match message {
        Message::Seconds(list) => Some(cut(list)?.map(Message::Seconds)),
        Message::Counters(list) => Some(cut(list)?.map(Message::Counters)),
        Message::KernelSeries(list) => Some(cut(list)?.map(Message::KernelSeries)),
        Message::Watched(list) => Some(cut(list)?.map(Message::Watched)),
        // The worst samples of a thread are sorted, so the smallest are dropped.
        Message::Thread { thread, cpu, totals, histogram, worst } => {
            let [kept, gone] = cut(worst)?;
            let detail = format!("least of the worst of thread {thread}: more than a frame carries");
            let loss = Loss { kind: LossKind::Records, count: gone.len() as u64, detail };
            let histogram = histogram.clone();
            let kept = Message::Thread { thread: *thread, cpu: *cpu, totals: *totals, histogram, worst: kept };
            Some([kept, Message::Loss(loss)])
        }
        _ => None,
    }
}

/// A decoded item of the stream.
#[derive(Debug, Clone, PartialEq)]
pub enum Item {
    Message(Message),
    Chunk {
        file: u32,
        offset: u64,
        data: Vec<u8>,
    },
    /// A valid frame with a kind or message that this version does not know.
    Unknown {
        why: String,
    },
    /// Bytes outside any frame: noise on the line, or a damaged frame.
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
    /// Bytes before the pending ones.
    passed: u64,
    /// Bytes of false frame candidates.
    wasted: u64,
    /// Starts of messages that give no item.
    left_out: &'static [&'static [u8]],
}

impl Decoder {
    /// Checks the messages with the records of each second like all others, but does not parse them: they are most of a
    /// long run.
    pub fn without_seconds() -> Self {
        Self { left_out: &[b"{\"seconds\":", b"{\"packed_seconds\":", b"{\"counters\":"], ..Self::default() }
    }

    /// Takes bytes and returns the items that are now complete.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Item> {
        self.pending.extend_from_slice(bytes);
        self.items(false)
    }

    /// Removes the items at the front of the pending bytes. `last`: no bytes follow.
    fn items(&mut self, last: bool) -> Vec<Item> {
        let mut items = Vec::new();
        let mut at = 0;
        loop {
            let rest = &self.pending[at..];
            let paid = CANDIDATES_BYTES.saturating_add((self.passed + at as u64) * CANDIDATE_BYTES_PER_BYTE);
            let length_max = paid.saturating_sub(self.wasted);
            match parse_within(rest, length_max) {
                Parsed::Frame { kind, sequence, payload, length } => {
                    flush(&mut self.garbage, &mut items);
                    if let Some(expected) = self.next_sequence
                        && expected != sequence
                    {
                        items.push(Item::FramesLost { count: sequence.wrapping_sub(expected) });
                    }
                    self.next_sequence = Some(sequence.wrapping_add(1));
                    let left_out = self.left_out.iter().any(|start| payload.starts_with(start));
                    if kind != KIND_MESSAGE || !left_out {
                        items.push(interpret(kind, payload));
                    }
                    at += length;
                }
                Parsed::Incomplete if !last || rest.is_empty() => break,
                Parsed::Incomplete => {
                    // A damaged length makes the decoder wait for bytes that never come while valid frames follow.
                    self.garbage.push(rest[0]);
                    at += 1;
                }
                Parsed::Noise(count) => {
                    self.wasted += candidate_bytes(rest).filter(|length| *length <= length_max).unwrap_or(0);
                    self.garbage.extend_from_slice(&rest[..count]);
                    at += count;
                    if self.garbage.len() > CHUNK_BYTES {
                        flush(&mut self.garbage, &mut items);
                    }
                }
            }
        }
        self.passed += at as u64;
        self.pending.drain(..at);
        items
    }

    /// Ends the stream: the rest is a truncated frame, or noise.
    pub fn finish(mut self) -> Vec<Item> {
        let mut items = self.items(true);
        flush(&mut self.garbage, &mut items);
        items
    }
}

fn flush(garbage: &mut Vec<u8>, items: &mut Vec<Item>) {
    if !garbage.is_empty() {
        items.push(Item::Garbage { bytes: std::mem::take(garbage) });
    }
}

/// The frame at the front of some bytes.
pub enum Parsed<'a> {
    Frame { kind: u8, sequence: u32, payload: &'a [u8], length: usize },
    Incomplete,
    Noise(usize),
}

/// Parses the front of some bytes: a frame, a part of one, or a number of other bytes.
pub fn parse(bytes: &[u8]) -> Parsed<'_> {
    parse_within(bytes, u64::MAX)
}

/// The length declared in the header of a possible frame.
fn candidate_bytes(bytes: &[u8]) -> Option<u64> {
    let length = u32::from_le_bytes(bytes.get(8..12)?.try_into().ok()?) as usize;
    let begins = bytes.starts_with(&MAGIC) && bytes.len() >= HEADER_BYTES && length <= PAYLOAD_BYTES_MAX;
    begins.then_some((HEADER_BYTES + length) as u64)
}

/// The same, but a header that declares more than `length_max` bytes is not a frame: each false one in a stream would
/// cost its declared length.
fn parse_within(bytes: &[u8], length_max: u64) -> Parsed<'_> {
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
    let length = HEADER_BYTES + payload_length;
    if payload_length > PAYLOAD_BYTES_MAX || length as u64 > length_max {
        return Parsed::Noise(1);
    }
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
        KIND_CHUNK if payload.len() >= CHUNK_HEAD_BYTES => {
            let (head, data) = payload.split_at(CHUNK_HEAD_BYTES);
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
    use crate::histogram::Histogram;
    use crate::sample::{Sample, Second, Totals};
    use crate::second_records::PackedSeconds;
    use proptest::prelude::*;

    #[test]
    fn records_of_seconds_can_be_left_out_and_nothing_else() {
        let packed = Message::PackedSeconds(PackedSeconds::of(&vec![Second::default()].into()));
        let messages =
            [loss(1), Message::Seconds(vec![Second::default()]), packed, Message::Counters(Vec::new()), loss(2)];
        let mut encoder = Encoder::default();
        let stream: Vec<u8> = messages.iter().flat_map(|message| encoder.message(message)).collect();
        let items = Decoder::without_seconds().push(&stream);
        assert_eq!(items, [Item::Message(loss(1)), Item::Message(loss(2))]);
        assert_eq!(Decoder::default().push(&stream).len(), messages.len());
    }

    fn loss_of(count: u64) -> Loss {
        Loss { kind: "trace events".to_owned().into(), count, detail: String::new() }
    }

    fn loss(count: u64) -> Message {
        Message::Loss(loss_of(count))
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

    #[test]
    fn a_message_longer_than_a_frame_comes_in_several_and_whole() {
        let second = |second| Second { second, cycles: 1000, ..Second::default() };
        let seconds: Vec<Second> = (0..200_000).map(second).collect();
        let bytes = Encoder::default().message(&Message::Seconds(seconds.clone()));
        assert!(bytes.len() > PAYLOAD_BYTES_MAX);
        let mut back = Vec::new();
        for item in decode(&bytes) {
            let Item::Message(Message::Seconds(part)) = item else { panic!("{item:?}") };
            back.extend(part);
        }
        assert_eq!(back, seconds);
    }

    #[test]
    fn totals_arrive_however_many_of_the_worst_were_kept() {
        let sample = Sample { cpu: 0, cycle: u64::MAX, due_ns: i64::MAX, latency_ns: i64::MAX };
        let totals = Totals { cycles: 7, ..Totals::default() };
        let message = Message::Thread {
            thread: 3,
            cpu: 3,
            totals,
            histogram: Histogram::default(),
            worst: vec![sample; 100_000],
        };
        let items = decode(&Encoder::default().message(&message));
        let Some(Item::Message(Message::Thread { totals: found, worst, .. })) = items.first() else { panic!() };
        let lost: u64 = items[1..]
            .iter()
            .map(|item| if let Item::Message(Message::Loss(loss)) = item { loss.count } else { panic!("{item:?}") })
            .sum();
        assert_eq!((found, worst.len() as u64 + lost), (&totals, 100_000));
        let text = "x".repeat(PAYLOAD_BYTES_MAX + 1);
        let items = decode(&Encoder::default().message(&Message::Loss(Loss { detail: text, ..loss_of(1) })));
        assert!(matches!(&items[..], [Item::Message(Message::Loss(loss))] if loss.kind == LossKind::Messages));
        let chunks = decode(&Encoder::default().chunk(1, 5, &vec![9; PAYLOAD_BYTES_MAX + 1]));
        assert!(
            matches!(&chunks[..], [Item::Chunk { offset: 5, data, .. }, Item::Chunk { .. }] if data.len() == CHUNK_DATA_MAX)
        );
    }

    #[test]
    fn a_million_false_headers_cost_what_a_few_would() {
        let mut header = MAGIC.to_vec();
        header.extend([KIND_MESSAGE, 1, 0, 0]);
        header.extend((PAYLOAD_BYTES_MAX as u32).to_le_bytes());
        let started = std::time::Instant::now();
        let mut bytes = header.repeat(1_000_000);
        bytes.extend(Encoder::default().message(&loss(1)));
        let items = decode(&bytes);
        assert_eq!(items.last(), Some(&Item::Message(loss(1))));
        assert!(started.elapsed() < std::time::Duration::from_secs(10), "{:?}", started.elapsed());
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
