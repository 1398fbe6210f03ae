//! The pages of one CPU that matter for a span of time.

use crate::header::PageLayout;
use crate::page::page_ts_ns;

/// The part of `cpu_pages` whose pages overlap `from_ns..=to_ns`, without copying. A page begins at its own timestamp
/// and ends where the next one begins, so the page before the first one inside is kept as well.
///
/// Every page header is looked at, so pages out of order (as after a swap of buffers) are never cut off: what is kept
/// reaches from the first overlapping page to the last.
pub fn cut_pages<'a>(cpu_pages: &'a [u8], layout: &PageLayout, from_ns: u64, to_ns: u64) -> &'a [u8] {
    let mut kept: Option<(usize, usize)> = None;
    let mut pages = cpu_pages.chunks(layout.page_size).enumerate().peekable();
    while let Some((index, page)) = pages.next() {
        let begins = page_ts_ns(page, layout).unwrap_or(u64::MAX);
        let ends = pages.peek().and_then(|(_, next)| page_ts_ns(next, layout)).unwrap_or(u64::MAX);
        if begins <= to_ns && ends.max(begins) >= from_ns {
            kept = Some((kept.map_or(index, |(first, _)| first), index));
        }
    }
    let Some((first, last)) = kept else { return &[] };
    let end = ((last + 1) * layout.page_size).min(cpu_pages.len());
    &cpu_pages[first * layout.page_size..end]
}

/// The same for pages in order of time, looking at only a few of them: `cpu_pages` may be a mapped file.
pub(super) fn cut_ordered_pages<'a>(cpu_pages: &'a [u8], layout: &PageLayout, from_ns: u64, to_ns: u64) -> &'a [u8] {
    let count = cpu_pages.len().div_ceil(layout.page_size);
    let begins = |index: usize| {
        let page = &cpu_pages[index * layout.page_size..];
        page_ts_ns(page, layout).unwrap_or(u64::MAX)
    };
    let first_after = |ns: u64, inclusive: bool| {
        let (mut low, mut high) = (0, count);
        while low < high {
            let middle = low + (high - low) / 2;
            let before = if inclusive { begins(middle) <= ns } else { begins(middle) < ns };
            if before { low = middle + 1 } else { high = middle }
        }
        low
    };
    // The page before the first that begins inside may reach into the window.
    let first = first_after(from_ns, false).saturating_sub(1);
    let end = first_after(to_ns, true);
    if first >= end {
        return &[];
    }
    &cpu_pages[first * layout.page_size..(end * layout.page_size).min(cpu_pages.len())]
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
