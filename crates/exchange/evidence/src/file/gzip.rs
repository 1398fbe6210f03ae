//! Unpacks gzip, member after member, as it is read.

use miniz_oxide::inflate::stream::{InflateState, inflate};
use miniz_oxide::{DataFormat, MZFlush, MZStatus};
use std::io::{self, BufRead, ErrorKind, Read};

const MAGIC: [u8; 2] = *b"\x1f\x8b";
const HAS_CHECKSUM: u8 = 2;
const HAS_EXTRA: u8 = 4;
const HAS_NAME: u8 = 8;
const HAS_COMMENT: u8 = 16;
/// Checksum and size behind each member.
const TAIL_BYTES: u64 = 8;

/// The contents of a packed file.
pub struct Gzip<R> {
    packed: R,
    state: Box<InflateState>,
    /// Members that were unpacked to their ends.
    members: u64,
    is_inside: bool,
}

impl<R: BufRead> Gzip<R> {
    pub fn new(packed: R) -> Self {
        Self { packed, state: InflateState::new_boxed(DataFormat::Raw), members: 0, is_inside: false }
    }

    /// Moves behind the head of the next member; `false` if there is none.
    fn begin(&mut self) -> io::Result<bool> {
        if !self.packed.fill_buf()?.starts_with(&MAGIC[..1]) {
            // gzip ignores what follows the last member, too.
            return if self.members > 0 { Ok(false) } else { Err(ErrorKind::InvalidData.into()) };
        }
        let mut head = [0; 10];
        self.packed.read_exact(&mut head)?;
        if !head.starts_with(&MAGIC) {
            return Err(ErrorKind::InvalidData.into());
        }
        let flags = head[3];
        if flags & HAS_EXTRA != 0 {
            let mut length = [0; 2];
            self.packed.read_exact(&mut length)?;
            self.skip(u64::from(u16::from_le_bytes(length)))?;
        }
        for text in [HAS_NAME, HAS_COMMENT] {
            if flags & text != 0 {
                self.packed.skip_until(0)?;
            }
        }
        if flags & HAS_CHECKSUM != 0 {
            self.skip(2)?;
        }
        self.state.reset(DataFormat::Raw);
        Ok(true)
    }

    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        io::copy(&mut self.packed.by_ref().take(bytes), &mut io::sink()).map(drop)
    }
}

impl<R: BufRead> Read for Gzip<R> {
    fn read(&mut self, plain: &mut [u8]) -> io::Result<usize> {
        while !plain.is_empty() {
            if !self.is_inside {
                self.is_inside = self.begin()?;
                if !self.is_inside {
                    return Ok(0);
                }
            }
            let packed = self.packed.fill_buf()?;
            let is_end = packed.is_empty();
            let result = inflate(&mut self.state, packed, plain, MZFlush::None);
            self.packed.consume(result.bytes_consumed);
            if result.status == Ok(MZStatus::StreamEnd) {
                self.skip(TAIL_BYTES)?;
                (self.members, self.is_inside) = (self.members + 1, false);
            }
            if result.bytes_written > 0 {
                return Ok(result.bytes_written);
            }
            if self.is_inside && (is_end || result.bytes_consumed == 0) {
                return Err(if is_end { ErrorKind::UnexpectedEof } else { ErrorKind::InvalidData }.into());
            }
        }
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unpacked(file: &[u8]) -> io::Result<Vec<u8>> {
        let mut plain = Vec::new();
        Gzip::new(file).read_to_end(&mut plain).map(|_| plain)
    }

    fn member(flags: u8, fields: &[u8], plain: &[u8]) -> Vec<u8> {
        let packed = miniz_oxide::deflate::compress_to_vec(plain, 6);
        [&[0x1f, 0x8b, 8, flags, 0, 0, 0, 0, 0, 3], fields, &packed, &[0; 8]].concat()
    }

    #[test]
    fn every_field_of_the_head_is_skipped() {
        for (flags, fields) in [(0, &b""[..]), (8, b"trace.dat\0"), (4 | 16, b"\x02\0xycomment\0"), (2, b"zz")] {
            assert_eq!(unpacked(&member(flags, fields, b"a trace")).unwrap(), b"a trace", "{flags}");
        }
    }

    #[test]
    fn members_follow_each_other_and_the_rest_is_ignored() {
        let file = [member(0, b"", b"a "), member(0, b"", b"trace"), vec![0; 100]].concat();
        assert_eq!(unpacked(&file).unwrap(), b"a trace");
    }

    #[test]
    fn a_file_that_ends_early_or_is_damaged_is_refused() {
        let plain: Vec<u8> = (0..50_000u32).flat_map(|word| word.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let file = member(0, b"", &plain);
        for end in [0, 1, 9, 10, 100, file.len() / 2, file.len() - 20] {
            assert!(unpacked(&file[..end]).is_err(), "{end}");
        }
        let reserved = [&file[..10], &[0xff; 100]].concat();
        assert!(unpacked(&reserved).is_err());
    }
}
