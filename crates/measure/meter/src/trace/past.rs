//! Determines for which stretch a copied buffer contains every event.
//!
//! Only the pages show this. The counters of an instance describe its live buffer, which after a swap is not the copied
//! one. A buffer that was swapped out and became live again before it was copied has a hole, which starts at the marker
//! that swapped it out.

use super::snapshotter::{CpuCopy, Frozen};
use crate::compact;
use crate::gaps::Gaps;
use crate::measure::thread::MARKER;
use archive::settings::SnapshotMode;
use archive::spike::Coverage;
use ftrace::header::PageLayout;
use ftrace::page::{GapKind, PageItem, PageItems};

/// The copied buffers of all CPUs.
#[derive(Debug)]
pub struct Past {
    pub coverage: Vec<Coverage>,
    /// Stretches of one CPU within which events were lost, between the surrounding events.
    lost: Vec<(u32, i64, i64)>,
    /// In chronological order.
    markers: Vec<Marker>,
    /// Stretches in which the buffer was live.
    live: Vec<(i64, i64)>,
    /// Instant up to which it is complete: the swap, or the freeze.
    pub until_ns: i64,
}

#[derive(Debug, Clone, Copy)]
struct Marker {
    ns: i64,
    tid: i32,
}

impl Past {
    pub fn new(copies: &[CpuCopy], layout: &PageLayout, mode: SnapshotMode, frozen: &Frozen, gaps: &Gaps) -> Self {
        let coverage: Vec<Coverage> = copies.iter().map(|copy| coverage(copy, layout)).collect();
        let lost = copies.iter().flat_map(|copy| lost_stretches(copy, layout, gaps)).collect();
        let mut markers: Vec<Marker> = copies.iter().flat_map(|copy| markers(&copy.pages, layout, gaps)).collect();
        compact::sort_by_key(&mut markers, |marker| marker.ns);
        let newest_ns = coverage.iter().filter_map(|of| of.newest_ns).max();
        let (live, until_ns) = match mode {
            SnapshotMode::Trigger => live_between_markers(&coverage, &markers, newest_ns, frozen),
            _ => (vec![(frozen.recording_since_ns, frozen.frozen_ns)], frozen.frozen_ns),
        };
        Self { coverage, lost, markers, live, until_ns }
    }

    /// Whether every event of the CPU between the two instants is there. Silence counts if the buffer demonstrably
    /// recorded and nothing was overwritten.
    pub fn covers(&self, cpu: u32, from_ns: i64, to_ns: i64) -> bool {
        let kept_from_ns = self.kept_from_ns(cpu);
        let lost = |&(of, after_ns, before_ns): &(u32, i64, i64)| of == cpu && after_ns < to_ns && before_ns > from_ns;
        from_ns >= kept_from_ns
            && self.live.iter().any(|(since_ns, until_ns)| *since_ns <= from_ns && to_ns <= *until_ns)
            && !self.lost.iter().any(lost)
    }

    /// Whether any part of that stretch is there, including silence.
    pub fn has_any(&self, cpu: u32, from_ns: i64, to_ns: i64) -> bool {
        let kept_from_ns = self.kept_from_ns(cpu);
        self.live.iter().any(|(since_ns, until_ns)| kept_from_ns.max(*since_ns) < to_ns && from_ns < *until_ns)
    }

    /// Earlier events of the CPU were overwritten.
    fn kept_from_ns(&self, cpu: u32) -> i64 {
        match self.coverage.iter().find(|coverage| coverage.cpu == cpu) {
            Some(Coverage { overwritten: 0, .. }) => i64::MIN,
            Some(coverage) => coverage.oldest_ns.unwrap_or(i64::MAX),
            None => i64::MAX,
        }
    }

    /// Whether events of the CPU were overwritten: then no other buffer has them either.
    pub fn has_overwritten(&self, cpu: u32) -> bool {
        self.coverage.iter().any(|coverage| coverage.cpu == cpu && coverage.overwritten > 0)
    }

    /// Instant of the marker that a thread wrote about the wake-up seen at `seen_ns`.
    pub fn marker_ns(&self, tid: i32, seen_ns: i64) -> Option<i64> {
        self.markers.iter().find(|marker| marker.tid == tid && marker.ns >= seen_ns).map(|marker| marker.ns)
    }
}

/// Size in bytes of the copy of one CPU's full buffer. The kernel counts only data, adds a page for readers, and has at
/// least two pages.
pub fn full_bytes(buffer_kb: u32, layout: &PageLayout) -> usize {
    let data = layout.page_size.saturating_sub(layout.data_offset).max(1);
    ((buffer_kb as usize * 1024).div_ceil(data).max(2) + 16) * layout.page_size
}

/// Memory whose pages are already populated.
pub fn touched(bytes: usize) -> Vec<u8> {
    let mut memory = vec![1; bytes];
    memory.clear();
    memory
}

/// Events overwritten before the first page, and events lost between pages, according to the pages' flags.
pub fn lost_events(pages: &[u8], layout: &PageLayout) -> (u64, u64) {
    let mut counts = pages.chunks_exact(layout.page_size).map(|page| lost_before(page, layout));
    let overwritten = counts.next().flatten().unwrap_or(0);
    (overwritten, counts.flatten().sum())
}

/// Events lost before a page; at least one if the kernel does not record the number.
fn lost_before(page: &[u8], layout: &PageLayout) -> Option<u64> {
    match PageItems::new(page, layout).next() {
        Some(PageItem::Gap { kind: GapKind::Lost { count }, .. }) => Some(count.unwrap_or(1).max(1)),
        _ => None,
    }
}

/// Every marker swaps, so after any but the last one the buffer became live again. The instant is known only for the
/// last time: it is that of the swap for the previous copy.
fn live_between_markers(
    coverage: &[Coverage],
    markers: &[Marker],
    newest_ns: Option<i64>,
    frozen: &Frozen,
) -> (Vec<(i64, i64)>, i64) {
    let oldest_ns = coverage.iter().filter_map(|of| of.oldest_ns).min();
    let (Some(oldest_ns), Some(newest_ns)) = (oldest_ns, newest_ns) else { return (Vec::new(), frozen.frozen_ns) };
    let until_ns = markers.last().map_or(newest_ns, |last| last.ns);
    // Later events mean that a marker swapped while pages were copied, so the pages are from two buffers.
    if newest_ns > frozen.frozen_ns {
        return (Vec::new(), until_ns.min(frozen.frozen_ns));
    }
    let back_ns = frozen.recording_since_ns;
    let mut live = vec![(oldest_ns, markers.first().map_or(until_ns, |first| first.ns))];
    let pairs = markers.windows(2).map(|pair| (pair[0].ns, pair[1].ns));
    live.extend(pairs.filter(|(from, to)| (*from..=*to).contains(&back_ns)).map(|(_, to)| (back_ns, to)));
    (live, until_ns)
}

fn coverage(copy: &CpuCopy, layout: &PageLayout) -> Coverage {
    let pages = copy.pages.chunks_exact(layout.page_size);
    // The timestamp of a page may be that of the last event read before it, so the records are used instead.
    let oldest = pages.clone().find_map(|page| record_times(page, layout).min());
    let newest = pages.rev().find_map(|page| record_times(page, layout).max());
    Coverage {
        cpu: copy.cpu,
        oldest_ns: oldest,
        newest_ns: newest,
        overwritten: copy.overwritten,
        dropped: copy.dropped,
    }
}

/// Instant of the last event of a copied buffer.
pub fn newest_ns(pages: &[u8], layout: &PageLayout) -> Option<i64> {
    pages.chunks_exact(layout.page_size).rev().find_map(|page| record_times(page, layout).max())
}

/// Instant of the first event of a page.
pub fn first_ns(page: &[u8], layout: &PageLayout) -> Option<i64> {
    record_times(page, layout).next()
}

fn record_times<'a>(page: &'a [u8], layout: &PageLayout) -> impl Iterator<Item = i64> + 'a {
    PageItems::new(page, layout).filter_map(|item| match item {
        PageItem::Record(record) => Some(record.ts_ns as i64),
        PageItem::Gap { .. } => None,
    })
}

fn lost_stretches(copy: &CpuCopy, layout: &PageLayout, gaps: &Gaps) -> Vec<(u32, i64, i64)> {
    let mut stretches = Vec::new();
    let mut before: Option<&[u8]> = None;
    for page in gaps.paced(copy.pages.chunks_exact(layout.page_size)) {
        if let Some(before) = before.filter(|_| lost_before(page, layout).is_some()) {
            let after_ns = record_times(before, layout).max().unwrap_or(i64::MIN);
            stretches.push((copy.cpu, after_ns, record_times(page, layout).min().unwrap_or(i64::MAX)));
        }
        before = Some(page);
    }
    stretches
}

/// Lines written by measuring threads and the capturing thread. Text in an event is word-aligned, so pages without the
/// first word need not be decoded: there are thousands.
fn markers(pages: &[u8], layout: &PageLayout, gaps: &Gaps) -> Vec<Marker> {
    let [first, second, third, fourth, ..] = *MARKER else { return Vec::new() };
    let wanted = u32::from_ne_bytes([first, second, third, fourth]);
    // Without an early exit, so that the compiler compares several words at once.
    let holds = |page: &&[u8]| {
        page.as_chunks().0.iter().fold(false, |found, word| found | (u32::from_ne_bytes(*word) == wanted))
    };
    let candidates = gaps.paced(pages.chunks_exact(layout.page_size)).filter(holds);
    let records = candidates.flat_map(|page| PageItems::new(page, layout));
    let marker = |item: PageItem<'_>| match item {
        PageItem::Record(record) if record.payload.windows(MARKER.len()).any(|text| text == MARKER) => {
            // Every event starts with its ID, two bytes of flags, and the thread.
            let tid = layout.byte_order.u32_at(record.payload, 4)? as i32;
            Some(Marker { ns: record.ts_ns as i64, tid })
        }
        _ => None,
    };
    records.filter_map(marker).collect()
}

#[cfg(test)]
mod tests;
