//! Unpacks gzip.

use crate::problem::Refusal;
use miniz_oxide::inflate::{TINFLStatus, decompress_to_vec_with_limit};

const HEAD_BYTES: usize = 10;
const HAS_CHECKSUM: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;

/// The contents, at most `bytes_max` of them.
///
/// # Errors
/// [`Refusal::TooLarge`] and [`Refusal::Broken`].
pub fn unpacked(bytes: &[u8], bytes_max: usize) -> Result<Vec<u8>, Refusal> {
    let broken = Refusal::Broken { compression: "gzip" };
    let Some(data) = data(bytes) else { return Err(broken) };
    decompress_to_vec_with_limit(data, bytes_max).map_err(|error| match error.status {
        TINFLStatus::HasMoreOutput => Refusal::TooLarge { bytes_max: bytes_max as u64 },
        _ => broken,
    })
}

/// The bytes behind the head.
fn data(bytes: &[u8]) -> Option<&[u8]> {
    let flags = *bytes.get(3)?;
    let mut rest = bytes.get(HEAD_BYTES..)?;
    if flags & HAS_EXTRA != 0 {
        let (length, after) = rest.split_first_chunk::<2>()?;
        rest = after.get(usize::from(u16::from_le_bytes(*length))..)?;
    }
    for text in [HAS_NAME, HAS_COMMENT] {
        if flags & text != 0 {
            let end = rest.iter().position(|byte| *byte == 0)?;
            rest = &rest[end + 1..];
        }
    }
    if flags & HAS_CHECKSUM != 0 { rest.get(2..) } else { Some(rest) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_of_the_head_is_skipped() {
        let packed = miniz_oxide::deflate::compress_to_vec(b"a trace", 6);
        for (flags, fields) in [(0, &b""[..]), (8, b"trace.dat\0"), (4 | 16, b"\x02\0xycomment\0"), (2, b"zz")] {
            let file = [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3], fields, &packed, &[0; 8]].concat();
            assert_eq!(unpacked(&file, 100), Ok(b"a trace".to_vec()), "{flags}");
        }
        assert_eq!(unpacked(&[0x1f, 0x8b, 8, 8], 100), Err(Refusal::Broken { compression: "gzip" }));
    }
}
