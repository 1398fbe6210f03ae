//! Hand-made pages for every kind of record, in both byte orders and word sizes.

use super::*;

/// Builds one page; the byte order and word size are those of the layout.
pub(crate) struct PageMaker {
    layout: PageLayout,
    ts_ns: u64,
    data: Vec<u8>,
}

impl PageMaker {
    pub(crate) fn new(layout: PageLayout, ts_ns: u64) -> PageMaker {
        PageMaker { layout, ts_ns, data: Vec::new() }
    }

    fn word(&mut self, value: u32) {
        self.data.extend(self.layout.byte_order.u32_bytes(value));
    }

    fn header(&mut self, type_len: u32, delta: u32) {
        self.word(match self.layout.byte_order {
            ByteOrder::Little => type_len | delta << 5,
            ByteOrder::Big => type_len << 27 | delta,
        });
    }

    pub(crate) fn short(mut self, delta: u32, payload: &[u8]) -> PageMaker {
        assert!(payload.len().is_multiple_of(4) && (4..=112).contains(&payload.len()));
        self.header((payload.len() / 4) as u32, delta);
        self.data.extend(payload);
        self
    }

    /// A record with its length in a separate word, as long ones have it.
    pub(crate) fn record(self, delta: u32, payload: &[u8]) -> PageMaker {
        self.long(0, delta, payload)
    }

    /// Bytes of data so far.
    pub(crate) fn len(&self) -> usize {
        self.data.len()
    }

    pub(crate) fn extend_time(self, delta: u64) -> PageMaker {
        self.two_words(TYPE_TIME_EXTEND, delta as u32 & ((1 << 27) - 1), (delta >> 27) as u32)
    }

    fn long(mut self, type_len: u32, delta: u32, payload: &[u8]) -> PageMaker {
        self.header(type_len, delta);
        self.word(payload.len() as u32 + 4);
        self.data.extend(payload);
        self
    }

    fn two_words(mut self, type_len: u32, delta: u32, word: u32) -> PageMaker {
        self.header(type_len, delta);
        self.word(word);
        self
    }

    pub(crate) fn finish(self, flags: u32, lost: Option<u64>) -> Vec<u8> {
        let order = self.layout.byte_order;
        let commit = self.data.len() as u32 | flags;
        let mut page = order.u64_bytes(self.ts_ns).to_vec();
        match self.layout.commit_size {
            4 => page.extend(order.u32_bytes(commit)),
            _ => page.extend(order.u64_bytes(commit as i32 as i64 as u64)),
        }
        page.resize(self.layout.data_offset, 0);
        page.extend(&self.data);
        if let Some(count) = lost {
            match self.layout.commit_size {
                4 => page.extend(order.u32_bytes(count as u32)),
                _ => page.extend(order.u64_bytes(count)),
            }
        }
        page.resize(self.layout.page_size, 0);
        page
    }
}

fn layouts() -> [PageLayout; 4] {
    [
        PageLayout::bits64(ByteOrder::Little),
        PageLayout::bits64(ByteOrder::Big),
        PageLayout::bits32(ByteOrder::Little),
        PageLayout::bits32(ByteOrder::Big),
    ]
}

fn record(ts_ns: u64, payload: &[u8]) -> PageItem<'_> {
    PageItem::Record(RawRecord { ts_ns, payload })
}

#[test]
fn decodes_every_kind_of_record_in_every_layout() {
    for layout in layouts() {
        let page = PageMaker::new(layout, 1000)
            .short(5, b"abcdefgh")
            .long(0, 1, &[7; 120])
            .long(TYPE_PADDING, 10, &[0; 16])
            .two_words(TYPE_TIME_EXTEND, 3, 2)
            .short(0, b"wxyz")
            .two_words(TYPE_TIME_STAMP, 77, 4)
            .short(1, b"last")
            .finish(0, None);
        let extended = 1016 + 3 + (2 << 27);
        let stamped = 77 + (4 << 27);
        let expected = [
            record(1005, b"abcdefgh"),
            record(1006, &[7; 120]),
            record(extended, b"wxyz"),
            record(stamped + 1, b"last"),
        ];
        assert_eq!(PageItems::new(&page, &layout).collect::<Vec<_>>(), expected, "{layout:?}");
    }
}

#[test]
fn absolute_stamp_keeps_the_top_bits_of_the_time_so_far() {
    let layout = PageLayout::bits64(ByteOrder::Little);
    let top = 3 << 59;
    let page = PageMaker::new(layout, top + 9).two_words(TYPE_TIME_STAMP, 5, 0).short(0, b"abcd").finish(0, None);
    assert_eq!(PageItems::new(&page, &layout).collect::<Vec<_>>(), [record(top + 5, b"abcd")]);
}

#[test]
fn padding_without_delta_ends_the_page() {
    let layout = PageLayout::bits64(ByteOrder::Little);
    let page =
        PageMaker::new(layout, 0).short(1, b"abcd").two_words(TYPE_PADDING, 0, 8).short(1, b"efgh").finish(0, None);
    assert_eq!(PageItems::new(&page, &layout).collect::<Vec<_>>(), [record(1, b"abcd")]);
}

#[test]
fn lost_events_are_said_first_with_their_number_when_stored() {
    for layout in layouts() {
        let page = PageMaker::new(layout, 50).short(1, b"abcd");
        let with_count = page.finish(COMMIT_MISSED | COMMIT_MISSED_STORED, Some(4379));
        let gap = PageItem::Gap { ts_ns: 50, kind: GapKind::Lost { count: Some(4379) } };
        assert_eq!(PageItems::new(&with_count, &layout).collect::<Vec<_>>(), [gap, record(51, b"abcd")]);

        let without = PageMaker::new(layout, 50).finish(COMMIT_MISSED, None);
        let gap = PageItem::Gap { ts_ns: 50, kind: GapKind::Lost { count: None } };
        assert_eq!(PageItems::new(&without, &layout).collect::<Vec<_>>(), [gap]);
    }
}

#[test]
fn a_page_marked_as_after_a_gap_says_so_and_keeps_its_records() {
    for layout in layouts() {
        let mut page = PageMaker::new(layout, 50).short(1, b"abcd").finish(0, None);
        super::mark_missed(&mut page, &layout);
        let gap = PageItem::Gap { ts_ns: 50, kind: GapKind::Lost { count: None } };
        assert_eq!(PageItems::new(&page, &layout).collect::<Vec<_>>(), [gap, record(51, b"abcd")]);
    }
    super::mark_missed(&mut [0; 5], &PageLayout::bits64(ByteOrder::Little));
}

#[test]
fn a_page_cut_short_yields_its_whole_records_and_says_so() {
    let layout = PageLayout::bits64(ByteOrder::Little);
    let page = PageMaker::new(layout, 0).short(1, b"abcd").short(1, b"efgh").finish(0, None);
    let truncated = PageItem::Gap { ts_ns: 1, kind: GapKind::Truncated };
    assert_eq!(PageItems::new(&page[..28], &layout).collect::<Vec<_>>(), [record(1, b"abcd"), truncated]);
    let header_only = PageItems::new(&page[..9], &layout).collect::<Vec<_>>();
    assert_eq!(header_only, [PageItem::Gap { ts_ns: 0, kind: GapKind::Truncated }]);
    assert_eq!(PageItems::new(&[], &layout).count(), 0);
}

#[test]
fn nonsense_is_named_and_ends_the_page() {
    let layout = PageLayout::bits64(ByteOrder::Little);
    let page = PageMaker::new(layout, 9).two_words(0, 0, 2).finish(0, None);
    let gap =
        PageItem::Gap { ts_ns: 9, kind: GapKind::Corrupt { offset: 16, why: "an event length that does not fit" } };
    assert_eq!(PageItems::new(&page, &layout).collect::<Vec<_>>(), [gap]);

    let page = PageMaker::new(layout, 9).two_words(28, 0, 2).finish(0, None);
    let gap = PageItem::Gap { ts_ns: 9, kind: GapKind::Corrupt { offset: 16, why: "an event reaches past the data" } };
    assert_eq!(PageItems::new(&page, &layout).collect::<Vec<_>>(), [gap]);

    let page = PageMaker::new(layout, 9).finish(5000, None);
    let gap = PageItem::Gap { ts_ns: 9, kind: GapKind::Corrupt { offset: 8, why: "more data than a page holds" } };
    assert_eq!(PageItems::new(&page, &layout).collect::<Vec<_>>(), [gap]);
}
