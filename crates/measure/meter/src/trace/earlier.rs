//! The end of the previous copy, for a wake-up in progress when its buffers were taken away.
//!
//! A snapshot takes away the past of everything that is still going on: a cycle of a watched thread that began before the
//! snapshot and ended after it is recorded in two copies, a part in each.

use super::past::first_ns;
use super::snapshotter::{CpuCopy, Frozen};
use super::stitch::{in_order, tail_from_ns};
use ftrace::header::PageLayout;
use ftrace::page::writer::PageWriter;
use ftrace::page::{PageItem, PageItems, RawRecord};

/// Kept part of a copy, as a fraction of a full buffer.
const KEPT_PART: usize = 4;
/// Two buffers stamp the same event at most this far apart.
const STAMPS_APART_NS_MAX: i64 = 20_000;

/// How a copy follows the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Joint {
    /// Near the freeze both buffers recorded the same events, each with its own time.
    Overlap,
    /// One buffer is read on where the copy before ended.
    Seamless,
}

/// The newest pages of each CPU, complete from one instant to another.
#[derive(Debug)]
pub struct Earlier {
    layout: PageLayout,
    joint: Joint,
    /// Bytes to keep per CPU.
    room: usize,
    cpus: Vec<(u32, Vec<u8>)>,
    from_ns: i64,
    until_ns: i64,
}

impl Earlier {
    /// `full_bytes`: the size of a full buffer.
    pub fn new(layout: PageLayout, full_bytes: usize, joint: Joint) -> Self {
        Self { layout, joint, room: full_bytes / KEPT_PART, cpus: Vec::new(), from_ns: i64::MAX, until_ns: i64::MIN }
    }

    /// Bytes by which a copy may grow.
    pub fn room(&self) -> usize {
        self.room
    }

    /// Keeps the end of a copy. All CPUs from the same instant on: silence of one is proven by events of another.
    pub fn keep(&mut self, copies: &[CpuCopy], frozen: &Frozen) {
        let oldest = copies.iter().filter(|copy| copy.overwritten > 0);
        let whole_from = oldest.map(|copy| first_ns_of(&copy.pages, &self.layout).unwrap_or(i64::MAX));
        let tails = copies.iter().filter_map(|copy| tail_from_ns(&copy.pages, &self.layout, self.room));
        self.from_ns = whole_from.chain(tails).fold(frozen.recording_since_ns, i64::max);
        self.until_ns = frozen.frozen_ns;
        self.cpus.resize_with(copies.len(), Default::default);
        for ((cpu, kept), copy) in self.cpus.iter_mut().zip(copies) {
            *cpu = copy.cpu;
            let first = copy.pages.len().saturating_sub(self.room).next_multiple_of(self.layout.page_size);
            let pages = copy.pages.get(first..).unwrap_or_default();
            kept.clear();
            kept.extend_from_slice(pages);
        }
    }

    pub fn forget(&mut self) {
        (self.from_ns, self.until_ns) = (i64::MAX, i64::MIN);
    }

    /// Puts what was kept before the events of a copy, if nothing is missing between the two. A CPU whose events were
    /// overwritten since is left as it is.
    pub fn join(&self, copies: &mut [CpuCopy], frozen: &mut Frozen) {
        let has_hole = self.joint == Joint::Overlap && self.until_ns < frozen.recording_since_ns;
        if has_hole || self.from_ns >= frozen.recording_since_ns {
            return;
        }
        for copy in copies.iter_mut().filter(|copy| copy.overwritten == 0) {
            let kept = self.cpus.iter().find(|(cpu, _)| *cpu == copy.cpu);
            if let Some((_, kept)) = kept {
                self.prepend(kept, copy);
            }
        }
        frozen.recording_since_ns = self.from_ns;
    }

    fn prepend(&self, kept: &[u8], copy: &mut CpuCopy) {
        let layout = &self.layout;
        let first_page = copy.pages.get(..layout.page_size).unwrap_or_default();
        let next = records(first_page, layout).next().filter(|_| self.joint == Joint::Overlap);
        let twice = next.and_then(|next| {
            let near = records(kept, layout)
                .filter(|record| record.payload == next.payload && apart_ns(record, &next) <= STAMPS_APART_NS_MAX);
            near.min_by_key(|record| apart_ns(record, &next))
        });
        let end_ns = twice.map_or(i64::MAX, |record| record.ts_ns as i64);
        let mut head = before(kept, layout, end_ns);
        head.extend_from_slice(first_page);
        let mut ordered = Vec::new();
        // The first page of a buffer that was read before has the stamp of that reading.
        in_order(&head, layout, self.from_ns, &mut ordered);
        copy.pages.splice(..first_page.len(), ordered);
    }
}

fn records<'a>(pages: &'a [u8], layout: &'a PageLayout) -> impl Iterator<Item = RawRecord<'a>> {
    pages.chunks_exact(layout.page_size).flat_map(move |page| PageItems::new(page, layout)).filter_map(
        |item| match item {
            PageItem::Record(record) => Some(record),
            PageItem::Gap { .. } => None,
        },
    )
}

fn apart_ns(one: &RawRecord<'_>, other: &RawRecord<'_>) -> i64 {
    one.ts_ns.abs_diff(other.ts_ns) as i64
}

fn first_ns_of(pages: &[u8], layout: &PageLayout) -> Option<i64> {
    pages.chunks_exact(layout.page_size).find_map(|page| first_ns(page, layout))
}

/// The pages up to an event, without it.
fn before(pages: &[u8], layout: &PageLayout, end_ns: i64) -> Vec<u8> {
    let mut kept = Vec::with_capacity(pages.len() + layout.page_size);
    for page in pages.chunks_exact(layout.page_size) {
        let earlier = |record: &RawRecord<'_>| (record.ts_ns as i64) < end_ns;
        if records(page, layout).all(|record| earlier(&record)) {
            kept.extend_from_slice(page);
            continue;
        }
        let mut writer = PageWriter::new(*layout);
        records(page, layout).filter(earlier).for_each(|record| writer.push(record));
        kept.extend(writer.finish());
        break;
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use ftrace::byte_order::ByteOrder;

    const ROOM: usize = 128 * 64;

    fn layout() -> PageLayout {
        PageLayout::bits64(ByteOrder::Little).with_page_size(128)
    }

    /// Events of (instant, contents).
    fn copy(cpu: u32, events: &[(u64, u8)]) -> CpuCopy {
        let mut writer = PageWriter::new(layout());
        events.iter().for_each(|&(ts_ns, content)| writer.push(RawRecord { ts_ns, payload: &[content; 20] }));
        CpuCopy { cpu, pages: writer.finish(), ..CpuCopy::default() }
    }

    fn events(copy: &CpuCopy) -> Vec<u64> {
        records(&copy.pages, &layout()).map(|record| record.ts_ns).collect()
    }

    fn frozen(recording_since_ns: i64, frozen_ns: i64) -> Frozen {
        Frozen { frozen_ns, swap_ns: 0, blind_ns: 0, recording_since_ns }
    }

    fn joined(first: &[CpuCopy], room: usize, mut second: Vec<CpuCopy>, since_ns: i64) -> (Vec<Vec<u64>>, i64) {
        let mut earlier = Earlier::new(layout(), room, Joint::Overlap);
        earlier.keep(first, &frozen(100, 100_000));
        let mut frozen = frozen(since_ns, 200_000);
        earlier.join(&mut second, &mut frozen);
        (second.iter().map(events).collect(), frozen.recording_since_ns)
    }

    #[test]
    fn a_wake_up_that_began_before_a_flip_keeps_its_beginning() {
        let first = [copy(0, &[(50_000, 1), (60_000, 2)]), copy(1, &[])];
        let second = vec![copy(0, &[(110_000, 3)]), copy(1, &[(120_000, 4)])];
        let (events, since_ns) = joined(&first, ROOM, second, 99_000);
        assert_eq!((events, since_ns), (vec![vec![50_000, 60_000, 110_000], vec![120_000]], 100));
    }

    #[test]
    fn an_event_that_both_buffers_recorded_is_there_once() {
        let first = [copy(0, &[(50_000, 1), (98_000, 2), (99_400, 3)])];
        let second = vec![copy(0, &[(98_300, 2), (99_500, 3), (110_000, 4)])];
        assert_eq!(joined(&first, ROOM, second, 97_000).0, [[50_000, 98_300, 99_500, 110_000]]);
        // The same contents long before are another event.
        let first = [copy(0, &[(50_000, 2)])];
        let second = vec![copy(0, &[(98_300, 2)])];
        assert_eq!(joined(&first, ROOM, second, 97_000).0, [[50_000, 98_300]]);
    }

    #[test]
    fn a_hole_between_the_copies_keeps_them_apart() {
        let first = [copy(0, &[(50_000, 1)])];
        let (events, since_ns) = joined(&first, ROOM, vec![copy(0, &[(110_000, 3)])], 100_001);
        assert_eq!((events, since_ns), (vec![vec![110_000]], 100_001), "recorded only since after the previous freeze");
    }

    #[test]
    fn a_buffer_that_is_read_on_has_no_event_twice() {
        let mut earlier = Earlier::new(layout(), ROOM, Joint::Seamless);
        earlier.keep(&[copy(0, &[(50_000, 1), (99_400, 3), (100_300, 3)])], &frozen(100, 100_000));
        let (mut next, mut frozen) = ([copy(0, &[(100_500, 3), (110_000, 4)])], frozen(100_400, 200_000));
        earlier.join(&mut next, &mut frozen);
        assert_eq!(events(&next[0]), [50_000, 99_400, 100_300, 100_500, 110_000]);
        assert_eq!(frozen.recording_since_ns, 100);
    }

    #[test]
    fn a_cpu_that_lost_events_since_keeps_only_its_own() {
        let first = [copy(0, &[(50_000, 1)]), copy(1, &[(50_500, 1)])];
        let overwritten = CpuCopy { overwritten: 3, ..copy(0, &[(110_000, 3)]) };
        let (events, _) = joined(&first, ROOM, vec![overwritten, copy(1, &[(120_000, 4)])], 99_000);
        assert_eq!(events, [vec![110_000], vec![50_500, 120_000]]);
    }

    #[test]
    fn every_cpu_is_complete_since_the_same_instant() {
        let many: Vec<(u64, u8)> = (1..=100).map(|at| (at * 900, 1)).collect();
        let first = [copy(0, &many), copy(1, &[(1_000, 2), (89_500, 3)])];
        let (events, since_ns) = joined(&first, 128 * 8, vec![copy(0, &[(110_000, 3)]), copy(1, &[])], 99_000);
        assert!(since_ns > 1_000 && since_ns < 90_000, "{since_ns}");
        assert_eq!(events[0].first().copied(), u64::try_from(since_ns).ok());
        assert_eq!(events[1], [89_500], "what lies before that instant is given up");
    }
}
