//! Decodes sub-buffers ("pages") of the ring buffer into records and the gaps between them.
//!
//! A page is: `u64` timestamp in ns of the trace clock; `commit`, a `long` whose low 27 bits are the number of data
//! bytes, whose bit 31 is set if events were lost before this page, and bit 30 if their number follows the data; then
//! the events. The kernel writes `commit` sign-extended, so only its low 32 bits are meaningful. [`writer`] creates
//! such pages.
//! (Layout: `include/linux/ring_buffer.h`, `kernel/trace/ring_buffer.c`.)

use crate::byte_order::ByteOrder;
use crate::header::PageLayout;

pub mod writer;

const COMMIT_LENGTH: u32 = (1 << 27) - 1;
const COMMIT_MISSED: u32 = 1 << 31;
const COMMIT_MISSED_STORED: u32 = 1 << 30;

const TYPE_PADDING: u32 = 29;
const TYPE_TIME_EXTEND: u32 = 30;
const TYPE_TIME_STAMP: u32 = 31;
const DELTA_BITS: u32 = 27;
/// An absolute timestamp has 59 bits; the five above them are those of the current time.
const STAMP_MASK: u64 = (1 << 59) - 1;

/// One event as stored in the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawRecord<'a> {
    /// In ns of the trace clock.
    pub ts_ns: u64,
    /// From `common_type` on, to which the offsets of the event's format refer.
    pub payload: &'a [u8],
}

/// Why records are missing at some point of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GapKind {
    /// The kernel dropped or overwrote events before this point, with their number if known.
    Lost { count: Option<u64> },
    /// The bytes of the page are invalid from this offset (from the start of the page) on; the rest is skipped.
    Corrupt { offset: usize, why: &'static str },
    /// The bytes end before the page does.
    Truncated,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageItem<'a> {
    Record(RawRecord<'a>),
    /// Records are missing here; the time is the last known one (ns).
    Gap {
        ts_ns: u64,
        kind: GapKind,
    },
}

/// Timestamp of a page, which is that of its first event; `None` if the bytes are too short.
#[inline]
pub fn page_ts_ns(page: &[u8], layout: &PageLayout) -> Option<u64> {
    layout.byte_order.u64_at(page, 0)
}

/// Marks the page at the front of some bytes as one before which events were lost, as the kernel does.
pub fn mark_missed(pages: &mut [u8], layout: &PageLayout) {
    let at = if (layout.byte_order, layout.commit_size) == (ByteOrder::Big, 8) { 12 } else { 8 };
    let order = layout.byte_order;
    let (Some(commit), Some(place)) = (order.u32_at(pages, at), pages.get_mut(at..at + 4)) else { return };
    let marked = commit | COMMIT_MISSED;
    place.copy_from_slice(&if order == ByteOrder::Big { marked.to_be_bytes() } else { marked.to_le_bytes() });
}

/// Iterates over the items of one page. Bytes after the data (padding) are never read.
#[derive(Clone, Debug)]
pub struct PageItems<'a> {
    /// From the start of the page to the end of its data.
    bytes: &'a [u8],
    position: usize,
    ts_ns: u64,
    /// Time of the last record, in ns; 0 before the first one.
    recorded_ns: u64,
    byte_order: ByteOrder,
    lost: Option<GapKind>,
    /// Returned once, after the last record.
    ending: Option<GapKind>,
}

impl<'a> PageItems<'a> {
    /// `page` may be shorter than the page size of `layout` (truncated) and contain anything.
    #[inline]
    pub fn new(page: &'a [u8], layout: &PageLayout) -> PageItems<'a> {
        let byte_order = layout.byte_order;
        let page = page.get(..layout.page_size).unwrap_or(page);
        let (position, ts_ns, recorded_ns) = (page.len(), 0, 0);
        let mut items = PageItems { bytes: page, position, ts_ns, recorded_ns, byte_order, lost: None, ending: None };
        let commit_low = match (byte_order, layout.commit_size) {
            (ByteOrder::Big, 8) => byte_order.u32_at(page, 12),
            _ => byte_order.u32_at(page, 8),
        };
        let (Some(ts_ns), Some(commit)) = (page_ts_ns(page, layout), commit_low) else {
            items.ending = (!page.is_empty()).then_some(GapKind::Truncated);
            return items;
        };
        items.ts_ns = ts_ns;
        let length = (commit & COMMIT_LENGTH) as usize;
        let data_end = layout.data_offset + length;
        if data_end > layout.page_size {
            items.ending = Some(GapKind::Corrupt { offset: 8, why: "more data than a page holds" });
            return items;
        }
        if commit & COMMIT_MISSED != 0 {
            let stored = commit & COMMIT_MISSED_STORED != 0;
            let count = stored.then(|| byte_order.uint_at(page, data_end, layout.commit_size)).flatten();
            items.lost = Some(GapKind::Lost { count });
        }
        items.position = layout.data_offset.min(page.len());
        match page.get(..data_end) {
            Some(bytes) => items.bytes = bytes,
            None => items.ending = Some(GapKind::Truncated),
        }
        items
    }

    /// Current time, in ns.
    #[inline]
    pub fn ts_ns(&self) -> u64 {
        self.ts_ns
    }

    /// Time of the last record that was returned or skipped, in ns; 0 before the first one.
    #[inline]
    pub fn recorded_ns(&self) -> u64 {
        self.recorded_ns
    }

    #[cold]
    fn corrupt(&mut self, why: &'static str) -> Option<PageItem<'a>> {
        let offset = self.position;
        self.position = self.bytes.len();
        // In a truncated page an event that extends past the end is due to the truncation, not another fault.
        let kind = self.ending.take().unwrap_or(GapKind::Corrupt { offset, why });
        Some(PageItem::Gap { ts_ns: self.ts_ns, kind })
    }

    #[cold]
    fn end(&mut self) -> Option<PageItem<'a>> {
        self.ending.take().map(|kind| PageItem::Gap { ts_ns: self.ts_ns, kind })
    }

    /// The next item, without records whose payload is not wanted.
    #[inline]
    pub fn next_wanted(&mut self, is_wanted: impl Fn(&[u8]) -> bool) -> Option<PageItem<'a>> {
        if let Some(kind) = self.lost.take() {
            return Some(PageItem::Gap { ts_ns: self.ts_ns, kind });
        }
        loop {
            if self.position >= self.bytes.len() {
                return self.end();
            }
            let Some(header) = self.byte_order.u32_at(self.bytes, self.position) else {
                return self.corrupt("an event header cut short");
            };
            let (type_len, delta) = match self.byte_order {
                ByteOrder::Little => (header & 31, u64::from(header >> 5)),
                ByteOrder::Big => (header >> DELTA_BITS, u64::from(header & ((1 << DELTA_BITS) - 1))),
            };
            let body = self.position + 4;
            if (1..TYPE_PADDING).contains(&type_len) {
                let end = body + type_len as usize * 4;
                let Some(payload) = self.bytes.get(body..end) else {
                    return self.corrupt("an event reaches past the data");
                };
                self.ts_ns = self.ts_ns.wrapping_add(delta);
                self.recorded_ns = self.ts_ns;
                self.position = end;
                if is_wanted(payload) {
                    return Some(PageItem::Record(RawRecord { ts_ns: self.ts_ns, payload }));
                }
                continue;
            }
            if type_len == TYPE_PADDING && delta == 0 {
                self.position = self.bytes.len();
                continue;
            }
            let Some(word) = self.byte_order.u32_at(self.bytes, body) else {
                return self.corrupt("an event header cut short");
            };
            match type_len {
                TYPE_TIME_EXTEND => {
                    self.ts_ns = self.ts_ns.wrapping_add(delta + (u64::from(word) << DELTA_BITS));
                    self.position = body + 4;
                }
                TYPE_TIME_STAMP => {
                    self.ts_ns = (self.ts_ns & !STAMP_MASK) | ((delta | u64::from(word) << DELTA_BITS) & STAMP_MASK);
                    self.position = body + 4;
                }
                _ => {
                    // The length is in the word after the header, and includes that word.
                    let end = body.saturating_add(word as usize);
                    let payload = if word < 4 { None } else { self.bytes.get(body + 4..end) };
                    let Some(payload) = payload else {
                        return self.corrupt("an event length that does not fit");
                    };
                    self.ts_ns = self.ts_ns.wrapping_add(delta);
                    // Events are 4-byte aligned; a discarded event is marked as padding and has no record.
                    self.position = (end + 3) & !3;
                    if type_len != TYPE_PADDING {
                        self.recorded_ns = self.ts_ns;
                        if is_wanted(payload) {
                            return Some(PageItem::Record(RawRecord { ts_ns: self.ts_ns, payload }));
                        }
                    }
                }
            }
        }
    }
}

impl<'a> Iterator for PageItems<'a> {
    type Item = PageItem<'a>;

    #[inline]
    fn next(&mut self) -> Option<PageItem<'a>> {
        self.next_wanted(|_| true)
    }
}

#[cfg(test)]
pub(crate) mod tests;
