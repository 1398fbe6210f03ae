//! Reads the pages of one CPU, as far as the file extends and as far as they are requested.

use std::borrow::Cow;
use std::cell::Cell;
use std::ops::Range;

use super::bytes::Bytes;
use super::compression::{Compression, ENDS_EARLY};
use super::places::Place;
use super::{CpuPages, Gap, Span};
use crate::header::PageLayout;
use crate::page::page_ts_ns;
use crate::trace_dat::cut::{cut_pages, look_ordered, overlapping, overlapping_in_order};

/// If a CPU has at most this much, every page is read, so that pages out of order are never cut off.
pub const SCANNED_BYTES: u64 = if cfg!(test) { 2 << 10 } else { 1 << 20 };
/// More than any file has: trace-cmd packs ten pages per chunk.
const CHUNKS_MAX: u32 = 1 << 20;
const TOO_MUCH: &str = "more data than a file of this size can hold";
/// Limit for pages copied from a compressed file or from one that is not in memory; a larger window cannot be read.
const COPIED_BYTES_MAX: u64 = if cfg!(test) { 8 << 20 } else { 2 << 30 };
const NOT_KEPT: &str = "more than is kept in memory; a shorter window may be read";

/// The requested pages.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace_dat) struct PageSpan {
    pub layout: PageLayout,
    pub span: Span,
}

/// The place of one chunk of compressed pages.
#[derive(Clone, Copy, Debug)]
pub(in crate::trace_dat) struct Chunk {
    pub at: u64,
    pub plain_bytes: u32,
}

/// Reads pages from a file.
pub(in crate::trace_dat) struct PageReader<'a> {
    file: Bytes<'a>,
    compression: Compression,
    /// Each byte may be in the pages of only one CPU, so that a small hostile file cannot take hours or all memory.
    file_bytes_left: Cell<u64>,
    /// Limit for decompressed bytes, for the same reason.
    plain_bytes_left: Cell<u64>,
    copied_bytes_left: Cell<u64>,
}

impl PageSpan {
    fn is_whole(&self) -> bool {
        self.span == (0, u64::MAX)
    }

    fn cut<'p>(&self, pages: &'p [u8]) -> &'p [u8] {
        if self.is_whole() { pages } else { cut_pages(pages, &self.layout, self.span.0, self.span.1) }
    }
}

impl<'a> PageReader<'a> {
    pub fn new(file: Bytes<'a>, compression: Compression) -> PageReader<'a> {
        let size = file.size();
        // Traces usually compress to a tenth, nearly empty pages to a hundredth.
        let plain_bytes_left = Cell::new(size.saturating_mul(256).saturating_add(256 << 20));
        let copied_bytes_left = Cell::new(COPIED_BYTES_MAX);
        PageReader { file, compression, file_bytes_left: Cell::new(size), plain_bytes_left, copied_bytes_left }
    }

    /// The requested pages of a CPU.
    pub fn pages(&self, gaps: &mut Vec<Gap>, wanted: &PageSpan, place: &Place) -> CpuPages<'a> {
        if place.is_packed { self.compressed(gaps, wanted, place) } else { self.plain(gaps, wanted, place) }
    }

    /// The bytes of uncompressed pages that the file has.
    pub fn plain_bytes(&self, gaps: &mut Vec<Gap>, &Place { cpu, offset, size, .. }: &Place) -> u64 {
        let part = part(cpu);
        let there = size.min(self.file.size().saturating_sub(offset));
        if there < size {
            gaps.push(Gap::missing(part.as_str(), size - there));
        }
        if !spend(&self.file_bytes_left, there) {
            gaps.push(Gap::Corrupt { part, why: TOO_MUCH });
            return 0;
        }
        there
    }

    fn plain(&self, gaps: &mut Vec<Gap>, wanted: &PageSpan, place: &Place) -> CpuPages<'a> {
        let Place { cpu, offset, .. } = *place;
        let part = part(cpu);
        let there = self.plain_bytes(gaps, place);
        let in_memory = self.file.is_in_memory();
        if in_memory || there <= SCANNED_BYTES || wanted.is_whole() {
            if !in_memory && !spend(&self.copied_bytes_left, there) {
                gaps.push(Gap::Corrupt { part, why: NOT_KEPT });
                return CpuPages { cpu, pages: Cow::Borrowed(&[]) };
            }
            let pages = match self.file.range(offset, there) {
                Cow::Borrowed(pages) => Cow::Borrowed(wanted.cut(pages)),
                Cow::Owned(pages) if wanted.is_whole() => Cow::Owned(pages),
                Cow::Owned(pages) => Cow::Owned(wanted.cut(&pages).to_vec()),
            };
            return CpuPages { cpu, pages };
        }
        let page_size = wanted.layout.page_size as u64;
        let count = usize::try_from(there.div_ceil(page_size)).unwrap_or(usize::MAX);
        let begins = |index: usize| {
            let at = index as u64 * page_size;
            if there - at < 8 { None } else { self.file.at(offset + at).u64() }.unwrap_or(u64::MAX)
        };
        let (from_ns, to_ns) = wanted.span;
        let kept = match look_ordered(count, begins) {
            true => overlapping_in_order(count, begins, from_ns, to_ns),
            false => overlapping(count, begins, from_ns, to_ns),
        };
        let (start, end) = (kept.start as u64 * page_size, (kept.end as u64 * page_size).min(there));
        if !spend(&self.copied_bytes_left, end - start) {
            gaps.push(Gap::Corrupt { part, why: NOT_KEPT });
            return CpuPages { cpu, pages: Cow::Borrowed(&[]) };
        }
        CpuPages { cpu, pages: self.file.range(offset + start, end - start) }
    }

    fn compressed(&self, gaps: &mut Vec<Gap>, wanted: &PageSpan, place: &Place) -> CpuPages<'a> {
        let cpu = place.cpu;
        let (chunks, end) = self.chunks(place.offset);
        let plain_bytes: u64 = chunks.iter().map(|chunk| u64::from(chunk.plain_bytes)).sum();
        let (kept, mut failed) = match wanted.is_whole() || plain_bytes <= SCANNED_BYTES {
            true => (0..chunks.len(), end),
            false => match self.chunks_in_span(&chunks, wanted) {
                (kept, None) => (kept, end),
                (kept, failed) => (kept, failed),
            },
        };
        let mut pages = Vec::new();
        for chunk in &chunks[kept] {
            match self.unpacked(chunk) {
                Ok(chunk) => {
                    let kept = wanted.cut(&chunk);
                    if !spend(&self.copied_bytes_left, kept.len() as u64) {
                        failed = Some(NOT_KEPT);
                        break;
                    }
                    pages.extend_from_slice(kept);
                }
                Err(why) => {
                    failed = Some(why);
                    break;
                }
            }
        }
        gaps.extend(failed.map(|why| self.gap(cpu, why)));
        CpuPages { cpu, pages: Cow::Owned(pages) }
    }

    /// Why some pages of a CPU are missing.
    pub fn gap(&self, cpu: u32, why: &'static str) -> Gap {
        self.compression.gap(part(cpu), why)
    }

    /// The places of the chunks, and why some are missing, if so.
    pub fn chunks(&self, offset: u64) -> (Vec<Chunk>, Option<&'static str>) {
        let mut chunks = Vec::new();
        let mut bytes = self.file.at(offset);
        let Some(count) = bytes.u32() else { return (chunks, Some(ENDS_EARLY)) };
        for _ in 0..count.min(CHUNKS_MAX) {
            let at = bytes.position();
            let (Some(packed_bytes), Some(plain_bytes)) = (bytes.u32(), bytes.u32()) else {
                return (chunks, Some(ENDS_EARLY));
            };
            let packed_bytes = u64::from(packed_bytes);
            if packed_bytes > bytes.size() - bytes.position() {
                return (chunks, Some(ENDS_EARLY));
            }
            if !spend(&self.file_bytes_left, 8 + packed_bytes) {
                return (chunks, Some(TOO_MUCH));
            }
            bytes.skip(packed_bytes);
            chunks.push(Chunk { at, plain_bytes });
        }
        (chunks, (count > CHUNKS_MAX).then_some(TOO_MUCH))
    }

    /// The chunks that overlap the span, of which only a few are decompressed. Nothing is known about those after an
    /// invalid one; that is reported.
    fn chunks_in_span(&self, chunks: &[Chunk], wanted: &PageSpan) -> (Range<usize>, Option<&'static str>) {
        let (from_ns, to_ns) = wanted.span;
        let mut count = chunks.len();
        let mut failed = None;
        loop {
            let broken = Cell::new(None);
            let begins = |index: usize| match self.unpacked(&chunks[index]) {
                Ok(pages) => page_ts_ns(&pages, &wanted.layout).unwrap_or(u64::MAX),
                Err(why) => {
                    broken.set(Some((index, why)));
                    u64::MAX
                }
            };
            let kept = overlapping_in_order(count, begins, from_ns, to_ns);
            match broken.get() {
                None => return (kept, failed),
                Some((index, why)) => (count, failed) = (index, Some(why)),
            }
        }
    }

    /// The file that the pages are in.
    pub fn file(&self) -> &Bytes<'a> {
        &self.file
    }

    /// A chunk that was read before, so that its size is known to be true.
    pub fn unpacked_again(&self, chunk: &Chunk) -> Result<Vec<u8>, &'static str> {
        self.compression.chunk(&mut self.file.at(chunk.at), u64::from(chunk.plain_bytes))
    }

    pub fn unpacked(&self, chunk: &Chunk) -> Result<Vec<u8>, &'static str> {
        let plain = self.compression.chunk(&mut self.file.at(chunk.at), self.plain_bytes_left.get())?;
        spend(&self.plain_bytes_left, plain.len() as u64);
        Ok(plain)
    }
}

fn part(cpu: u32) -> String {
    format!("pages of CPU {cpu}")
}

/// Takes `bytes` from a budget; returns whether it sufficed.
pub(in crate::trace_dat) fn spend(left: &Cell<u64>, bytes: u64) -> bool {
    let rest = left.get().checked_sub(bytes);
    left.set(rest.unwrap_or(left.get()));
    rest.is_some()
}
