//! The bytes of a file, in memory or read on demand.

use std::borrow::Cow;
use std::fmt;
use std::io;

/// Random access to bytes. The caller that does I/O implements it; nothing here opens a file.
pub trait ReadAt {
    fn size(&self) -> u64;

    /// Fills `buffer` with the bytes from `offset` on. Returns their number: fewer than requested only after a short
    /// read, none only at the end.
    ///
    /// # Errors
    /// I/O errors. The reader treats the bytes as missing and reports the error.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize>;
}

/// Where the bytes of a file are.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// Pages are borrowed from here.
    Memory(&'a [u8]),
    /// Only the necessary parts are read; pages are copies.
    Reader(&'a dyn ReadAt),
}

/// Memory is allocated in steps of this size, so that a file that is shorter than it claims costs no more.
const STEP_BYTES: usize = 1 << 20;

impl<'a> Source<'a> {
    pub fn size(&self) -> u64 {
        match self {
            Source::Memory(bytes) => bytes.len() as u64,
            Source::Reader(reader) => reader.size(),
        }
    }

    /// The bytes at `offset..offset + size`, as far as they exist, and the error that ended them early.
    pub fn range(&self, offset: u64, size: u64) -> (Cow<'a, [u8]>, Option<io::ErrorKind>) {
        self.range_in(offset, size, Vec::new())
    }

    /// The same; a copy is in `spare`, whose memory is used again.
    pub fn range_in(&self, offset: u64, size: u64, spare: Vec<u8>) -> (Cow<'a, [u8]>, Option<io::ErrorKind>) {
        let end = offset.saturating_add(size).min(self.size());
        let start = offset.min(end);
        match self {
            Source::Memory(bytes) => (Cow::Borrowed(&bytes[start as usize..end as usize]), None),
            Source::Reader(reader) => {
                let mut bytes = spare;
                let (there, error) = fill_growing(*reader, start, end - start, &mut bytes);
                bytes.truncate(there);
                (Cow::Owned(bytes), error)
            }
        }
    }

    /// The bytes at `offset`, if all of them exist.
    pub fn array<const N: usize>(&self, offset: u64) -> Result<[u8; N], Option<io::ErrorKind>> {
        match self {
            Source::Memory(bytes) => {
                let start = usize::try_from(offset).map_err(|_| None)?;
                bytes.get(start..).and_then(|rest| rest.first_chunk()).copied().ok_or(None)
            }
            Source::Reader(reader) => {
                let mut array = [0; N];
                match fill(*reader, offset, &mut array) {
                    (there, _) if there == N => Ok(array),
                    (_, error) => Err(error),
                }
            }
        }
    }
}

/// Reads `size` bytes to the front of a buffer, which grows with them: only its new part is set to zero first.
fn fill_growing(reader: &dyn ReadAt, start: u64, size: u64, bytes: &mut Vec<u8>) -> (usize, Option<io::ErrorKind>) {
    let mut there = 0;
    while (there as u64) < size {
        let step = (size - there as u64).min(STEP_BYTES as u64) as usize;
        if bytes.is_empty() {
            bytes.reserve_exact(step);
        }
        bytes.resize(bytes.len().max(there + step), 0);
        let (read, failed) = fill(reader, start + there as u64, &mut bytes[there..there + step]);
        there += read;
        if failed.is_some() || read < step {
            return (there, failed);
        }
    }
    (there, None)
}

/// Number of bytes read, and the error that ended them early, if any.
fn fill(reader: &dyn ReadAt, offset: u64, buffer: &mut [u8]) -> (usize, Option<io::ErrorKind>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read_at(offset.saturating_add(filled as u64), &mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled = buffer.len().min(filled + count),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Some(error.kind())),
        }
    }
    (filled, None)
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Source::Memory(_) => "Memory",
            Source::Reader(_) => "Reader",
        };
        write!(formatter, "Source::{kind}({} bytes)", self.size())
    }
}

impl<'a> From<&'a [u8]> for Source<'a> {
    fn from(bytes: &'a [u8]) -> Source<'a> {
        Source::Memory(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for Source<'a> {
    fn from(bytes: &'a [u8; N]) -> Source<'a> {
        Source::Memory(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for Source<'a> {
    fn from(bytes: &'a Vec<u8>) -> Source<'a> {
        Source::Memory(bytes)
    }
}

impl ReadAt for [u8] {
    fn size(&self) -> u64 {
        self.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = usize::try_from(offset).ok().and_then(|start| self.get(start..)).unwrap_or_default();
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

impl ReadAt for Vec<u8> {
    fn size(&self) -> u64 {
        self.as_slice().size()
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.as_slice().read_at(offset, buffer)
    }
}
