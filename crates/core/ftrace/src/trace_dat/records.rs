//! Records of one CPU, and of all CPUs in chronological order.

use std::slice::Chunks;

use super::cut::cut_ordered_pages;
use crate::byte_order::ByteOrder;
use crate::event_set::EventSet;
use crate::header::PageLayout;
use crate::page::{GapKind, PageItem, PageItems};

/// Type, flags, preemption depth and thread, with which every record begins.
const COMMON_BYTES: usize = 8;

/// One event. Its fields are read with the format for `id`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record<'a> {
    pub cpu: u32,
    /// In ns of the trace clock.
    pub ts_ns: u64,
    /// Event ID, as in [`EventFormat::id`](crate::format::EventFormat::id).
    pub id: u16,
    /// Bits of `enum trace_flag_type`: interrupts off, in interrupt, need-resched ...
    pub common_flags: u8,
    pub common_preempt_count: u8,
    /// Thread that was running.
    pub common_pid: i32,
    /// The whole record from `common_type` on; offsets of fields count from its start.
    pub payload: &'a [u8],
}

/// Records are missing at this point of one CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuGap {
    pub cpu: u32,
    /// Last known time, in ns of the trace clock; for lost events that of the first record after them.
    pub ts_ns: u64,
    pub kind: GapKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceItem<'a> {
    Record(Record<'a>),
    Gap(CpuGap),
}

impl TraceItem<'_> {
    #[inline]
    pub fn ts_ns(&self) -> u64 {
        match self {
            TraceItem::Record(record) => record.ts_ns,
            TraceItem::Gap(gap) => gap.ts_ns,
        }
    }
}

/// Iterates over the records and gaps of one CPU.
#[derive(Clone, Debug)]
pub struct CpuRecords<'a> {
    cpu: u32,
    layout: PageLayout,
    pages: Chunks<'a, u8>,
    items: PageItems<'a>,
    from_ns: u64,
    to_ns: u64,
    wanted: Option<&'a EventSet>,
    /// Of the pages before the one that is being read, in ns.
    latest_ns: u64,
}

impl<'a> CpuRecords<'a> {
    /// `pages` are consecutive sub-buffers; the last may be truncated.
    pub fn new(cpu: u32, pages: &'a [u8], layout: &PageLayout) -> CpuRecords<'a> {
        CpuRecords {
            cpu,
            layout: *layout,
            pages: pages.chunks(layout.page_size.max(1)),
            items: PageItems::new(&[], layout),
            from_ns: 0,
            to_ns: u64::MAX,
            wanted: None,
            latest_ns: 0,
        }
    }

    /// Only the items in `from_ns..=to_ns`; pages before and after are not read. Pages of one CPU must be in
    /// chronological order, as the kernel returns them. Lost events before `from_ns` are not reported.
    pub fn window(cpu: u32, pages: &'a [u8], layout: &PageLayout, from_ns: u64, to_ns: u64) -> CpuRecords<'a> {
        let pages = cut_ordered_pages(pages, layout, from_ns, to_ns);
        CpuRecords { from_ns, to_ns, ..CpuRecords::new(cpu, pages, layout) }
    }

    /// Only records of these events, and all gaps. The others are skipped, which takes a fraction of the time.
    #[must_use]
    pub fn only(self, wanted: &'a EventSet) -> CpuRecords<'a> {
        CpuRecords { wanted: Some(wanted), ..self }
    }

    /// The latest time of a record so far, whether it was returned or skipped, in ns; 0 before the first one.
    pub fn latest_ns(&self) -> u64 {
        self.latest_ns.max(self.items.recorded_ns())
    }

    #[inline]
    fn next_in_page(&mut self) -> Option<PageItem<'a>> {
        let Some(wanted) = self.wanted else { return self.items.next() };
        let order = self.layout.byte_order;
        // One that is too short for its common fields is a gap.
        let is_wanted = |payload: &[u8]| match payload.first_chunk::<COMMON_BYTES>() {
            Some(common) => {
                let (id, _, tid) = common_fields(common, order);
                wanted.has(id, tid)
            }
            None => true,
        };
        self.items.next_wanted(is_wanted)
    }

    #[inline]
    fn item(&self, item: PageItem<'a>) -> TraceItem<'a> {
        let cpu = self.cpu;
        match item {
            PageItem::Gap { ts_ns, kind } => TraceItem::Gap(CpuGap { cpu, ts_ns, kind }),
            PageItem::Record(raw) => {
                let (ts_ns, payload) = (raw.ts_ns, raw.payload);
                let Some(common) = payload.first_chunk::<COMMON_BYTES>() else {
                    let kind = GapKind::Corrupt { offset: 0, why: "an event shorter than its common fields" };
                    return TraceItem::Gap(CpuGap { cpu, ts_ns, kind });
                };
                let (id, [common_flags, common_preempt_count], common_pid) =
                    common_fields(common, self.layout.byte_order);
                TraceItem::Record(Record { cpu, ts_ns, id, common_flags, common_preempt_count, common_pid, payload })
            }
        }
    }
}

/// Event, flags with preemption depth, and thread.
#[inline]
fn common_fields(common: &[u8; COMMON_BYTES], order: ByteOrder) -> (u16, [u8; 2], i32) {
    let &[type_0, type_1, flags, depth, pid @ ..] = common;
    let (id, pid) = match order {
        ByteOrder::Little => (u16::from_le_bytes([type_0, type_1]), i32::from_le_bytes(pid)),
        ByteOrder::Big => (u16::from_be_bytes([type_0, type_1]), i32::from_be_bytes(pid)),
    };
    (id, [flags, depth], pid)
}

impl<'a> Iterator for CpuRecords<'a> {
    type Item = TraceItem<'a>;

    #[inline]
    fn next(&mut self) -> Option<TraceItem<'a>> {
        loop {
            match self.next_in_page() {
                Some(item) => {
                    let item = self.item(item);
                    let ts_ns = item.ts_ns();
                    if ts_ns >= self.from_ns && ts_ns <= self.to_ns {
                        return Some(item);
                    }
                }
                None => {
                    let page = self.pages.next()?;
                    self.latest_ns = self.latest_ns();
                    self.items = PageItems::new(page, &self.layout);
                }
            }
        }
    }
}

/// Merges CPUs by time; for equal times, the CPU given first comes first.
#[derive(Clone, Debug)]
pub struct Merged<'a> {
    sources: Vec<Source<'a>>,
    /// Binary heap of (time of the head, index into `sources`), earliest on top.
    heap: Vec<(u64, usize)>,
}

#[derive(Clone, Debug)]
struct Source<'a> {
    head: TraceItem<'a>,
    rest: CpuRecords<'a>,
}

impl<'a> Merged<'a> {
    pub fn new(cpus: impl IntoIterator<Item = CpuRecords<'a>>) -> Merged<'a> {
        let sources: Vec<Source<'a>> =
            cpus.into_iter().filter_map(|mut rest| rest.next().map(|head| Source { head, rest })).collect();
        let mut heap: Vec<(u64, usize)> =
            sources.iter().enumerate().map(|(index, source)| (source.head.ts_ns(), index)).collect();
        // A sorted list is a heap.
        heap.sort_unstable();
        Merged { sources, heap }
    }

    #[inline]
    fn sift_down(&mut self) {
        let heap = self.heap.as_mut_slice();
        let mut parent = 0;
        loop {
            let left = 2 * parent + 1;
            let right = left + 1;
            if left >= heap.len() {
                return;
            }
            let child = if right < heap.len() && heap[right] < heap[left] { right } else { left };
            if heap[parent] <= heap[child] {
                return;
            }
            heap.swap(parent, child);
            parent = child;
        }
    }
}

impl<'a> Iterator for Merged<'a> {
    type Item = TraceItem<'a>;

    #[inline]
    fn next(&mut self) -> Option<TraceItem<'a>> {
        let &(_, index) = self.heap.first()?;
        let source = &mut self.sources[index];
        let earliest = source.head;
        match source.rest.next() {
            Some(next) => {
                self.heap[0].0 = next.ts_ns();
                source.head = next;
            }
            None => {
                self.heap.swap_remove(0);
            }
        }
        self.sift_down();
        Some(earliest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::page::tests::PageMaker;

    const LAYOUT: PageLayout = PageLayout::bits64(ByteOrder::Little);

    /// Common fields of an event with this `id` by thread `pid`.
    fn payload(id: u16, pid: i32) -> Vec<u8> {
        [&id.to_le_bytes()[..], &[1, 2], &pid.to_le_bytes()].concat()
    }

    fn pages(stamps: &[&[u64]], lost: bool) -> Vec<u8> {
        let page = |stamps: &&[u64]| {
            let mut page = PageMaker::new(LAYOUT, stamps[0]);
            let mut previous = stamps[0];
            for &stamp in *stamps {
                page = page.short((stamp - previous) as u32, &payload(7, 42));
                previous = stamp;
            }
            page.finish(if lost { 1 << 31 } else { 0 }, None)
        };
        stamps.iter().flat_map(page).collect()
    }

    fn times<'a>(items: impl Iterator<Item = TraceItem<'a>>) -> Vec<(u32, u64)> {
        items
            .map(|item| match item {
                TraceItem::Record(record) => (record.cpu, record.ts_ns),
                TraceItem::Gap(gap) => (100 + gap.cpu, gap.ts_ns),
            })
            .collect()
    }

    #[test]
    fn records_carry_their_common_fields() {
        let pages = pages(&[&[5]], false);
        let Some(TraceItem::Record(record)) = CpuRecords::new(3, &pages, &LAYOUT).next() else { panic!("no record") };
        assert_eq!((record.cpu, record.ts_ns, record.id, record.common_pid), (3, 5, 7, 42));
        assert_eq!((record.common_flags, record.common_preempt_count, record.payload.len()), (1, 2, 8));
    }

    #[test]
    fn cpus_are_merged_in_order_of_time_with_their_gaps() {
        let first = pages(&[&[10, 30], &[40, 90]], false);
        let second = pages(&[&[10, 20, 35]], true);
        let third = pages(&[&[5, 100]], false);
        let cpus = [(0, &first), (1, &second), (2, &third)];
        let merged = Merged::new(cpus.map(|(cpu, pages)| CpuRecords::new(cpu, pages, &LAYOUT)));
        let expected = [(2, 5), (0, 10), (101, 10), (1, 10), (1, 20), (0, 30), (1, 35), (0, 40), (0, 90), (2, 100)];
        assert_eq!(times(merged), expected);
    }

    #[test]
    fn a_window_holds_only_what_lies_inside() {
        let pages = pages(&[&[10, 20], &[30, 40], &[50, 60]], false);
        assert_eq!(times(CpuRecords::window(0, &pages, &LAYOUT, 20, 40)), [(0, 20), (0, 30), (0, 40)]);
        assert_eq!(times(CpuRecords::window(0, &pages, &LAYOUT, 61, 99)), []);
    }

    #[test]
    fn an_event_too_short_for_its_common_fields_is_a_gap() {
        let page = PageMaker::new(LAYOUT, 1).short(0, b"abcd").finish(0, None);
        assert_eq!(times(CpuRecords::new(0, &page, &LAYOUT)), [(100, 1)]);
    }
}
