//! Any bytes as the stream of a meter: decoded, and forwarded without decoding.
#![no_main]

use archive::frame::{Decoder, Item};
use archive::message::Message;
use libfuzzer_sys::fuzz_target;
use protocol::relay::{Piece, Renumbering, Splitter};
use tardy_fuzz::within_budget;

fuzz_target!(|input: (&[u8], usize, Vec<Vec<u8>>)| {
    within_budget(input.0.len() + input.2.iter().map(Vec::len).sum::<usize>(), || {
        let (noise, cut, chunks) = input;
        let mut encoder = archive::frame::Encoder::default();
        let mut stream = noise.to_vec();
        for (number, data) in chunks.iter().enumerate() {
            stream.extend(encoder.chunk(number as u32, data.len() as u64, data));
            stream.extend(data);
        }
        let (first, second) = stream.split_at(cut % (stream.len() + 1));
        let mut decoder = Decoder::default();
        let mut items = decoder.push(first);
        items.extend(decoder.push(second));
        items.extend(decoder.finish());
        let kept = |item: &Item| match item {
            Item::Chunk { data, .. } => data.len(),
            Item::Garbage { bytes } => bytes.len(),
            _ => 0,
        };
        assert!(items.iter().map(kept).sum::<usize>() <= stream.len());

        let mut splitter = Splitter::default();
        let mut pieces = splitter.push(first);
        pieces.extend(splitter.push(second));
        let mut renumbering = Renumbering::default();
        let mut passed = renumbering.message(&Message::Loads(Vec::new()));
        for piece in pieces {
            match piece {
                Piece::Message { frame, .. } | Piece::Chunk { frame, .. } => passed.extend(renumbering.pass(frame)),
                Piece::Noise(_) => {}
            }
        }
        // The forwarded stream is complete and in order.
        let mut decoder = Decoder::default();
        let again = decoder.push(&passed).into_iter().chain(decoder.finish());
        assert!(again.into_iter().all(|item| !matches!(item, Item::Garbage { .. } | Item::FramesLost { .. })));
    });
});
