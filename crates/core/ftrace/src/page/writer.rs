//! Writes records into pages, so that data merged from several buffers can be read as one.

use super::{COMMIT_MISSED, COMMIT_MISSED_STORED, DELTA_BITS, RawRecord};
use crate::byte_order::ByteOrder;
use crate::header::PageLayout;

const DELTA_MAX: u64 = (1 << DELTA_BITS) - 1;
/// Payloads up to this size in bytes have their length in the header of the event.
const SHORT_MAX: usize = 28 * 4;

/// Creates pages from records. A new page starts when one is full, and when two events are too far apart for the bits
/// of a delta.
#[derive(Debug)]
pub struct PageWriter {
    layout: PageLayout,
    pages: Vec<u8>,
    data: Vec<u8>,
    begins_ns: u64,
    ts_ns: u64,
    /// Events lost before the current page.
    lost: Option<u64>,
}

impl PageWriter {
    pub fn new(layout: PageLayout) -> PageWriter {
        PageWriter { layout, pages: Vec::new(), data: Vec::new(), begins_ns: 0, ts_ns: 0, lost: None }
    }

    /// Marks events lost before the next record: this number, or an unknown one.
    pub fn lose(&mut self, count: Option<u64>) {
        self.close();
        self.lost = Some(self.lost.unwrap_or(0) + count.unwrap_or(0));
    }

    /// Appends a record. One that fits no page counts as lost.
    pub fn push(&mut self, record: RawRecord<'_>) {
        let length = if is_short(record.payload) {
            4 + record.payload.len()
        } else {
            8 + record.payload.len().next_multiple_of(4)
        };
        let room = self.layout.page_size.saturating_sub(self.layout.data_offset);
        if length > room {
            return self.lose(Some(1));
        }
        let reachable = record.ts_ns.checked_sub(self.ts_ns).is_some_and(|delta| delta <= DELTA_MAX);
        if !self.data.is_empty() && (!reachable || self.data.len() + length > room) {
            self.close();
        }
        if self.data.is_empty() {
            (self.begins_ns, self.ts_ns) = (record.ts_ns, record.ts_ns);
        }
        let delta = (record.ts_ns - self.ts_ns) as u32;
        self.ts_ns = record.ts_ns;
        if is_short(record.payload) {
            self.header((record.payload.len() / 4) as u32, delta);
        } else {
            self.header(0, delta);
            self.data.extend(self.layout.byte_order.u32_bytes(record.payload.len() as u32 + 4));
        }
        self.data.extend(record.payload);
        self.data.resize(self.data.len().next_multiple_of(4), 0);
    }

    /// Size of the full pages.
    pub fn bytes(&self) -> usize {
        self.pages.len()
    }

    /// The pages. Events that were lost after the last record are not in them.
    pub fn finish(mut self) -> Vec<u8> {
        self.close();
        self.pages
    }

    fn header(&mut self, type_len: u32, delta: u32) {
        let word = match self.layout.byte_order {
            ByteOrder::Little => type_len | delta << 5,
            ByteOrder::Big => type_len << DELTA_BITS | delta,
        };
        self.data.extend(self.layout.byte_order.u32_bytes(word));
    }

    fn close(&mut self) {
        if self.data.is_empty() {
            return;
        }
        let PageLayout { byte_order, commit_size, data_offset, page_size } = self.layout;
        let long = |value: u64| match commit_size {
            4 => byte_order.u32_bytes(value as u32).to_vec(),
            _ => byte_order.u64_bytes(value).to_vec(),
        };
        let lost = self.lost.take();
        let stored = lost.filter(|count| *count > 0 && data_offset + self.data.len() + commit_size <= page_size);
        let missed = if lost.is_some() { COMMIT_MISSED } else { 0 };
        let commit = self.data.len() as u32 | missed | if stored.is_some() { COMMIT_MISSED_STORED } else { 0 };
        let start = self.pages.len();
        self.pages.extend(byte_order.u64_bytes(self.begins_ns));
        // Sign-extended, as in the kernel.
        self.pages.extend(long(i64::from(commit as i32) as u64));
        self.pages.resize(start + data_offset, 0);
        self.pages.append(&mut self.data);
        self.pages.extend(stored.map(long).unwrap_or_default());
        self.pages.resize(start + page_size, 0);
    }
}

fn is_short(payload: &[u8]) -> bool {
    payload.len().is_multiple_of(4) && (4..=SHORT_MAX).contains(&payload.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::{GapKind, PageItem, PageItems};
    use proptest::prelude::*;

    fn items<'a>(pages: &'a [u8], layout: &'a PageLayout) -> Vec<PageItem<'a>> {
        assert!(pages.len().is_multiple_of(layout.page_size));
        pages.chunks(layout.page_size).flat_map(|page| PageItems::new(page, layout)).collect()
    }

    fn layouts() -> [PageLayout; 3] {
        let small = PageLayout::bits64(ByteOrder::Little).with_page_size(256);
        [small, PageLayout::bits32(ByteOrder::Big), PageLayout::bits64(ByteOrder::Big).with_page_size(300)]
    }

    #[test]
    fn a_loss_is_said_before_the_record_after_it() {
        for layout in layouts() {
            let mut writer = PageWriter::new(layout);
            writer.push(RawRecord { ts_ns: 10, payload: b"abcd" });
            writer.lose(Some(7));
            writer.push(RawRecord { ts_ns: 20, payload: &[1; 120] });
            writer.lose(None);
            writer.push(RawRecord { ts_ns: 30, payload: b"efgh" });
            let pages = writer.finish();
            let lost = |ts_ns, count| PageItem::Gap { ts_ns, kind: GapKind::Lost { count } };
            let record = |ts_ns, payload| PageItem::Record(RawRecord { ts_ns, payload });
            let expected =
                [record(10, b"abcd"), lost(20, Some(7)), record(20, &[1; 120]), lost(30, None), record(30, b"efgh")];
            assert_eq!(items(&pages, &layout), expected);
        }
    }

    #[test]
    fn a_record_larger_than_a_page_is_lost() {
        let layout = layouts()[0];
        let mut writer = PageWriter::new(layout);
        writer.push(RawRecord { ts_ns: 10, payload: &[0; 300] });
        writer.push(RawRecord { ts_ns: 20, payload: b"abcd" });
        assert!(matches!(items(&writer.finish(), &layout)[0], PageItem::Gap { kind: GapKind::Lost { .. }, .. }));
    }

    proptest! {
        #[test]
        fn written_records_are_read_back(
            records in prop::collection::vec((any::<u64>(), prop::collection::vec(any::<u8>(), 4..130)), 0..40),
        ) {
            for layout in layouts() {
                // A length that is not a multiple of four cannot be distinguished from its padding.
                let cut = |payload: &[u8]| payload[..payload.len() / 4 * 4].to_vec();
                let records: Vec<_> = records.iter().map(|(ns, payload)| (ns >> (ns & 63), cut(payload))).collect();
                let mut writer = PageWriter::new(layout);
                let expected: Vec<RawRecord<'_>> =
                    records.iter().map(|(ts_ns, payload)| RawRecord { ts_ns: *ts_ns, payload }).collect();
                expected.iter().for_each(|record| writer.push(*record));
                let pages = writer.finish();
                let read: Vec<_> = items(&pages, &layout);
                prop_assert_eq!(read, expected.into_iter().map(PageItem::Record).collect::<Vec<_>>());
            }
        }
    }
}
