//! A position in bytes of known order.

use crate::byte_order::ByteOrder;

/// Every read answers `None` at the end and then leaves the position where it was.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bytes<'a> {
    whole: &'a [u8],
    position: usize,
    pub order: ByteOrder,
}

impl<'a> Bytes<'a> {
    pub fn new(whole: &'a [u8], order: ByteOrder) -> Bytes<'a> {
        Bytes { whole, position: 0, order }
    }

    pub fn at(self, position: u64) -> Bytes<'a> {
        Bytes { position: usize::try_from(position).unwrap_or(usize::MAX).min(self.whole.len()), ..self }
    }

    pub fn whole(&self) -> &'a [u8] {
        self.whole
    }

    pub fn position(&self) -> usize {
        self.position
    }

    pub fn remaining(&self) -> &'a [u8] {
        &self.whole[self.position..]
    }

    pub fn skip(&mut self, count: usize) {
        self.position = self.position.saturating_add(count).min(self.whole.len());
    }

    pub fn take(&mut self, count: u64) -> Option<&'a [u8]> {
        let taken = self.remaining().get(..usize::try_from(count).ok()?)?;
        self.position += taken.len();
        Some(taken)
    }

    /// As many of the bytes as there are, and how many are not.
    pub fn take_up_to(&mut self, count: u64) -> (&'a [u8], u64) {
        let there = count.min(self.remaining().len() as u64);
        let taken = self.take(there).unwrap_or(&[]);
        (taken, count - there)
    }

    pub fn u8(&mut self) -> Option<u8> {
        self.take(1).map(|byte| byte[0])
    }

    pub fn u16(&mut self) -> Option<u16> {
        let order = self.order;
        order.u16_at(self.take(2)?, 0)
    }

    pub fn u32(&mut self) -> Option<u32> {
        let order = self.order;
        order.u32_at(self.take(4)?, 0)
    }

    pub fn u64(&mut self) -> Option<u64> {
        let order = self.order;
        order.u64_at(self.take(8)?, 0)
    }

    /// Text up to its NUL, which is consumed; bytes that are no UTF-8 become U+FFFD.
    pub fn text(&mut self) -> Option<String> {
        let length = self.remaining().iter().position(|&byte| byte == 0)?;
        let text = self.take(length as u64)?;
        self.skip(1);
        Some(lossy(text))
    }
}

/// The bytes at `offset..offset + size`, as far as the file reaches.
pub(super) fn range(file: &[u8], offset: u64, size: u64) -> &[u8] {
    let length = file.len() as u64;
    let start = offset.min(length);
    let end = offset.saturating_add(size).min(length);
    &file[start as usize..end as usize]
}

/// Text up to its NUL, if it has one.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let text = bytes.split(|&byte| byte == 0).next().unwrap_or(bytes);
    String::from_utf8_lossy(text).into_owned()
}
