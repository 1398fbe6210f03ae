//! A cursor over bytes of known byte order.

use std::borrow::Cow;
use std::cell::Cell;
use std::io::ErrorKind;
use std::rc::Rc;

use crate::byte_order::ByteOrder;
use crate::trace_dat::source::Source;

/// Longest NUL-terminated text: these are names.
const TEXT_BYTES_MAX: u64 = 64 << 10;
/// Names are read in steps of this size.
const TEXT_STEP_BYTES: u64 = 256;

/// At the end every read returns `None` and leaves the position unchanged.
#[derive(Clone, Debug)]
pub(in crate::trace_dat) struct Bytes<'a> {
    source: Source<'a>,
    position: u64,
    pub order: ByteOrder,
    /// The first I/O error.
    failed: Rc<Cell<Option<ErrorKind>>>,
}

impl<'a> Bytes<'a> {
    pub fn new(source: impl Into<Source<'a>>, order: ByteOrder) -> Bytes<'a> {
        Bytes { source: source.into(), position: 0, order, failed: Rc::default() }
    }

    pub fn at(&self, position: u64) -> Bytes<'a> {
        Bytes { position: position.min(self.size()), ..self.clone() }
    }

    pub fn size(&self) -> u64 {
        self.source.size()
    }

    pub fn is_in_memory(&self) -> bool {
        matches!(self.source, Source::Memory(_))
    }

    pub fn failed(&self) -> Option<ErrorKind> {
        self.failed.get()
    }

    pub fn position(&self) -> u64 {
        self.position
    }

    pub fn skip(&mut self, count: u64) {
        self.position = self.position.saturating_add(count).min(self.size());
    }

    /// The bytes at `offset..offset + size`, as far as they exist.
    pub fn range(&self, offset: u64, size: u64) -> Cow<'a, [u8]> {
        self.range_in(offset, size, Vec::new())
    }

    /// The same; a copy is in `spare`, whose memory is used again.
    pub fn range_in(&self, offset: u64, size: u64, spare: Vec<u8>) -> Cow<'a, [u8]> {
        let (bytes, error) = self.source.range_in(offset, size, spare);
        self.note(error);
        bytes
    }

    pub fn take(&mut self, count: u64) -> Option<Cow<'a, [u8]>> {
        if count > self.size() - self.position {
            return None;
        }
        let taken = self.range(self.position, count);
        if (taken.len() as u64) < count {
            return None;
        }
        self.position += count;
        Some(taken)
    }

    /// The available part of the bytes, and the number of missing ones.
    pub fn take_up_to(&mut self, count: u64) -> (Cow<'a, [u8]>, u64) {
        let taken = self.range(self.position, count);
        self.position += taken.len() as u64;
        let missing = count - taken.len() as u64;
        (taken, missing)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        match self.source.array(self.position) {
            Ok(array) => {
                self.position += N as u64;
                Some(array)
            }
            Err(error) => {
                self.note(error);
                None
            }
        }
    }

    fn note(&self, error: Option<ErrorKind>) {
        self.failed.set(self.failed.get().or(error));
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub fn u16(&mut self) -> Option<u16> {
        let order = self.order;
        order.u16_at(&self.array::<2>()?, 0)
    }

    pub fn u32(&mut self) -> Option<u32> {
        let order = self.order;
        order.u32_at(&self.array::<4>()?, 0)
    }

    pub fn u64(&mut self) -> Option<u64> {
        let order = self.order;
        order.u64_at(&self.array::<8>()?, 0)
    }

    /// Text up to its NUL, which is consumed; invalid UTF-8 becomes U+FFFD.
    pub fn text(&mut self) -> Option<String> {
        let mut size = TEXT_STEP_BYTES;
        loop {
            let bytes = self.range(self.position, size);
            if let Some(length) = bytes.iter().position(|&byte| byte == 0) {
                self.position += length as u64 + 1;
                return Some(lossy(&bytes));
            }
            if (bytes.len() as u64) < size || size >= TEXT_BYTES_MAX {
                return None;
            }
            size *= 4;
        }
    }
}

/// Text up to its NUL, if it has one.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or(bytes);
    String::from_utf8_lossy(text).into_owned()
}
