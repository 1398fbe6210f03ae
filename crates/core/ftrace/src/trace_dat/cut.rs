//! Selects the pages of one CPU for a span of time.

use std::ops::Range;

use crate::header::PageLayout;
use crate::page::page_ts_ns;

/// The part of `cpu_pages` whose pages overlap `from_ns..=to_ns`, without copying. A page starts at its own timestamp
/// and ends where the next one starts, so the page before the first one inside is kept as well.
///
/// Every page header is read, so pages out of order (as after a swap of buffers) are never cut off: the result extends
/// from the first overlapping page to the last.
pub fn cut_pages<'a>(cpu_pages: &'a [u8], layout: &PageLayout, from_ns: u64, to_ns: u64) -> &'a [u8] {
    let count = cpu_pages.len().div_ceil(layout.page_size);
    let kept = overlapping(count, begins_in(cpu_pages, layout), from_ns, to_ns);
    &cpu_pages[kept.start * layout.page_size..(kept.end * layout.page_size).min(cpu_pages.len())]
}

/// The same for pages in chronological order, reading only a few of them.
pub(super) fn cut_ordered_pages<'a>(cpu_pages: &'a [u8], layout: &PageLayout, from_ns: u64, to_ns: u64) -> &'a [u8] {
    let count = cpu_pages.len().div_ceil(layout.page_size);
    let kept = overlapping_in_order(count, begins_in(cpu_pages, layout), from_ns, to_ns);
    &cpu_pages[kept.start * layout.page_size..(kept.end * layout.page_size).min(cpu_pages.len())]
}

fn begins_in(cpu_pages: &[u8], layout: &PageLayout) -> impl Fn(usize) -> u64 {
    move |index| page_ts_ns(&cpu_pages[index * layout.page_size..], layout).unwrap_or(u64::MAX)
}

/// From the first of `count` pages that overlaps `from_ns..=to_ns` to the last; `begins` returns the start of a page.
pub(super) fn overlapping(count: usize, begins: impl Fn(usize) -> u64, from_ns: u64, to_ns: u64) -> Range<usize> {
    let mut kept: Option<Range<usize>> = None;
    let mut next_ns = if count > 0 { begins(0) } else { 0 };
    for index in 0..count {
        let begin_ns = next_ns;
        next_ns = if index + 1 < count { begins(index + 1) } else { u64::MAX };
        if begin_ns <= to_ns && next_ns.max(begin_ns) >= from_ns {
            kept = Some(kept.map_or(index, |kept| kept.start)..index + 1);
        }
    }
    kept.unwrap_or(0..0)
}

/// The same for pages in chronological order, of which only a few are read.
pub(super) fn overlapping_in_order(
    count: usize,
    begins: impl Fn(usize) -> u64,
    from_ns: u64,
    to_ns: u64,
) -> Range<usize> {
    // The page before the first that starts inside may extend into the window.
    let first = partition_point(count, |index| begins(index) < from_ns).saturating_sub(1);
    let end = partition_point(count, |index| begins(index) <= to_ns);
    if first < end { first..end } else { 0..0 }
}

fn partition_point(count: usize, before: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, count);
    while low < high {
        let middle = low + (high - low) / 2;
        if before(middle) { low = middle + 1 } else { high = middle }
    }
    low
}

/// Number of pages at either end to check for order; four times as many are spread in between.
const SAMPLED: usize = 16;

/// Whether pages are in chronological order, judged by a few of them. A swap of buffers leaves its pages out of order
/// at the ends.
pub(super) fn look_ordered(count: usize, begins: impl Fn(usize) -> u64) -> bool {
    let spread = (0..4 * SAMPLED).map(|sample| sample * (count / (4 * SAMPLED)));
    let mut looked_at: Vec<usize> =
        (0..SAMPLED.min(count)).chain(spread).chain(count.saturating_sub(SAMPLED)..count).collect();
    looked_at.sort_unstable();
    looked_at.dedup();
    looked_at.into_iter().map(begins).is_sorted()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::byte_order::ByteOrder;

    fn pages(stamps: &[u64]) -> (Vec<u8>, PageLayout) {
        let layout = PageLayout::bits64(ByteOrder::Little).with_page_size(32);
        let page = |stamp: &u64| [&stamp.to_le_bytes()[..], &[0; 24]].concat();
        (stamps.iter().flat_map(page).collect(), layout)
    }

    fn stamps(pages: &[u8]) -> Vec<u64> {
        pages.chunks(32).map(|page| u64::from_le_bytes(page[..8].try_into().unwrap())).collect()
    }

    #[test]
    fn keeps_the_pages_that_overlap_and_the_one_before() {
        let (bytes, layout) = pages(&[10, 20, 30, 40]);
        for (from, to, expected) in [
            (22, 35, &[20, 30][..]),
            (20, 20, &[10, 20]),
            (0, 5, &[]),
            (0, 10, &[10]),
            (45, 99, &[40]),
            (0, 99, &[10, 20, 30, 40]),
            (31, 39, &[30]),
            (99, 0, &[]),
        ] {
            assert_eq!(stamps(cut_pages(&bytes, &layout, from, to)), expected, "{from}..={to}");
            assert_eq!(stamps(cut_ordered_pages(&bytes, &layout, from, to)), expected, "ordered {from}..={to}");
        }
    }

    #[test]
    fn disorder_and_cut_pages_lose_nothing() {
        let (bytes, layout) = pages(&[50, 10, 20]);
        assert_eq!(stamps(cut_pages(&bytes, &layout, 50, 60)), [50, 10, 20]);
        let (bytes, layout) = pages(&[10, 20]);
        assert_eq!(cut_pages(&bytes[..50], &layout, 21, 30).len(), 18);
        assert_eq!(cut_pages(&[], &layout, 0, 9), &[] as &[u8]);
    }
}
