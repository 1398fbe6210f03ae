//! Sorts pages of one CPU from two buffers chronologically.
//!
//! The kernel swaps its buffers and clears neither. After two swaps one of them contains a stretch, a hole and another
//! stretch, and the other contains the events of the hole. Together they have every event except overwritten ones.
//! Events older than those are dropped: which of the two buffers had them is no longer known.

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

/// All pages in chronological order, from `from_ns` or the last loss on, whichever is later. Pages are left as the
/// kernel wrote them if they do not overlap, not even by their timestamps. The first page reports a loss. They replace
/// the contents of `ordered`, whose memory the caller keeps: allocating and freeing memory during a measurement takes
/// kernel locks for which others wait.
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
        // The timestamp of a page that was read in parts is that of the last event read from its buffer before;
        // searches for a page use it.
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

/// The instant since which the last `bytes_max` of sorted pages contain everything; `None` if all of them fit.
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
