//! Records that `perf record -z` packed: one zstd stream over the whole file, in parts.

use std::io::Read;

/// The stream without its compression, up to where it ends or is damaged. perf does not finish it.
pub fn unpacked(stream: &[u8], bytes_max: usize) -> Vec<u8> {
    let mut plain = Vec::new();
    if let Ok(decoder) = ruzstd::decoding::StreamingDecoder::new(stream) {
        // A stream without its end is an error after its last byte.
        let _ = decoder.take(bytes_max as u64).read_to_end(&mut plain);
    }
    plain
}
