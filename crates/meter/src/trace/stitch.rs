//! Puts pages of one CPU that were read from two buffers in the order of time.
//!
//! The kernel swaps its buffers and clears neither. After two swaps one of them holds a stretch, a hole and another stretch,
//! and the other holds what fills the hole. Together they have every event, except what was overwritten, and what is
//! older than that is given up: which of the two buffers had it is no longer known.

use super::past::first_ns;
use ftrace::header::PageLayout;
use ftrace::page::writer::PageWriter;
use ftrace::page::{GapKind, PageItem, PageItems, RawRecord, page_ts_ns};

struct Page<'a> {
    bytes: &'a [u8],
    first_ns: i64,
    last_ns: i64,
    says_lost: bool,
}

/// All pages in the order of time, from `from_ns` or the last loss on, whichever is later. Pages stay as the kernel wrote
/// them where none reaches into another, not even by its stamp. A loss is said by the first page. They
/// replace what is in `ordered`, whose memory the caller keeps: to get and to give back some in the middle of a measurement
/// takes locks of the kernel that others wait for.
pub fn in_order(pages: &[u8], layout: &PageLayout, from_ns: i64, ordered: &mut Vec<u8>) {
    ordered.clear();
    let (mut complete_from_ns, mut lost_here, mut lost) = (from_ns, None, None);
    let mut found = Vec::new();
    for bytes in pages.chunks_exact(layout.page_size) {
        let mut page = Page { bytes, first_ns: i64::MAX, last_ns: i64::MIN, says_lost: false };
        for item in PageItems::new(bytes, layout) {
            match item {
                PageItem::Gap { kind, .. } => {
                    let count = if let GapKind::Lost { count } = kind { count.unwrap_or(1) } else { 1 };
                    lost_here = Some(lost_here.unwrap_or(0) + count);
                    page.says_lost = true;
                }
                PageItem::Record(record) => {
                    let ns = record.ts_ns as i64;
                    (page.first_ns, page.last_ns) = (page.first_ns.min(ns), page.last_ns.max(ns));
                    if let Some(count) = lost_here.take()
                        && ns > from_ns
                    {
                        complete_from_ns = complete_from_ns.max(ns);
                        lost = Some(lost.unwrap_or(0) + count);
                    }
                }
            }
        }
        found.push(page);
    }
    // Nothing shows where a loss at the very end was over.
    if lost_here.is_some() {
        return;
    }
    found.retain(|page| page.last_ns >= complete_from_ns);
    found.sort_by_key(|page| page.first_ns);
    let mut ordered_until_ns = i64::MIN;
    let mut rest = found.as_slice();
    while let Some(first) = rest.first() {
        let mut last_ns = first.last_ns;
        let others = rest[1..].iter().take_while(|page| {
            let reaches_in = page.first_ns < last_ns;
            last_ns = last_ns.max(page.last_ns);
            reaches_in
        });
        let (group, after) = rest.split_at(1 + others.count());
        let says_enough = first.says_lost == (ordered.is_empty() && lost.is_some());
        // The stamp of a page that was read in parts is that of the last event read from its buffer before; who looks for a
        // page goes by it.
        let stamped = page_ts_ns(first.bytes, layout).is_some_and(|ns| ns as i64 >= ordered_until_ns);
        if group.len() == 1 && first.first_ns >= complete_from_ns && says_enough && stamped {
            ordered.extend_from_slice(first.bytes);
        } else {
            let lost = lost.filter(|_| ordered.is_empty());
            ordered.extend(rewritten(group, layout, complete_from_ns, lost));
        }
        (rest, ordered_until_ns) = (after, last_ns);
    }
}

/// The instant from which on the last `bytes_max` of pages in order hold everything; `None` when all of them do.
pub fn tail_from_ns(pages: &[u8], layout: &PageLayout, bytes_max: usize) -> Option<i64> {
    let over = pages.len().saturating_sub(bytes_max).next_multiple_of(layout.page_size);
    let tail = pages.get(over..).filter(|_| over > 0)?;
    Some(tail.chunks_exact(layout.page_size).find_map(|page| first_ns(page, layout)).unwrap_or(i64::MAX))
}

fn rewritten(pages: &[Page<'_>], layout: &PageLayout, from_ns: i64, lost: Option<u64>) -> Vec<u8> {
    let records = pages.iter().flat_map(|page| PageItems::new(page.bytes, layout));
    let of_interest = |item| match item {
        PageItem::Record(record) if record.ts_ns as i64 >= from_ns => Some(record),
        _ => None,
    };
    let mut records: Vec<RawRecord<'_>> = records.filter_map(of_interest).collect();
    records.sort_by_key(|record| record.ts_ns as i64);
    let mut writer = PageWriter::new(*layout);
    if lost.is_some() {
        writer.lose(lost);
    }
    records.into_iter().for_each(|record| writer.push(record));
    writer.finish()
}

#[cfg(test)]
mod tests;
