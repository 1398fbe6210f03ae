//! Records that `perf record -z` packed: one zstd stream over the whole file, in parts.

use std::io::Read;

/// An empty last block, and room for a checksum.
const END: [u8; 7] = [1, 0, 0, 0, 0, 0, 0];

/// The stream without its compression, up to where it is damaged.
pub fn unpacked(mut stream: Vec<u8>, bytes_max: usize) -> Vec<u8> {
    // perf leaves the stream without its end, before which a decoder keeps the last of the data back.
    stream.extend(END);
    let mut plain = Vec::new();
    if let Ok(decoder) = ruzstd::decoding::StreamingDecoder::new(&*stream) {
        // Whatever came before the damage is in `plain`.
        let _ = decoder.take(bytes_max as u64).read_to_end(&mut plain);
    }
    plain
}
