//! A trace.dat whose pages are read a piece at a time, so that a file may be larger than the memory: one pass over all of it, then
//! stretches of time.

use std::borrow::Cow;
use std::cell::RefCell;

use super::cut::overlapping_in_order;
use super::reader::{Buffer, Bytes, Chunk, Compression, CpuPages, Gap, Opened, PageReader, Place, PlacedBuffer};
use super::records::{CpuRecords, Merged};
use super::source::Source;
use crate::event_set::EventSet;
use crate::header::PageLayout;
use crate::metadata::Metadata;
use crate::page::page_ts_ns;

/// Uncompressed pages that the pass reads at once: they fit into the cache of a processor.
const PASS_BYTES: u64 = if cfg!(test) { 8 << 10 } else { 256 << 10 };
/// Pages of all CPUs between the bounds of a slice, for the same reason.
const SLICE_BYTES: u64 = if cfg!(test) { 8 << 10 } else { 2 << 20 };
/// Each slice reads one or two pages of each CPU again, which would be most of a small one.
const SLICE_BYTES_OF_CPU: u64 = if cfg!(test) { 0 } else { 256 << 10 };
const SLICE_BYTES_MAX: u64 = 8 << 20;
/// Pages of a window that are copied. Only pages that claim to begin at the same instant make a slice larger than this.
const WINDOW_BYTES_MAX: u64 = 32 << 20;
/// Recorders compress ten pages at once.
const CHUNK_BYTES_MAX: u32 = 16 << 20;
const CHUNK_TOO_LARGE: &str = "a larger chunk than any recorder writes";

/// A trace.dat file; what cannot be read is in [`PagedTrace::gaps`].
pub struct PagedTrace<'a> {
    pub metadata: Metadata,
    /// Unreadable parts, in file order.
    pub gaps: Vec<Gap>,
    layout: PageLayout,
    cpus: Vec<PagedCpu>,
    reader: PageReader<'a>,
    spare: Spare,
}

/// Memory of windows that are no longer used: new memory for each would take as long as reading its pages.
#[derive(Default)]
struct Spare(RefCell<Vec<Vec<u8>>>);

impl Spare {
    fn take(&self) -> Vec<u8> {
        self.0.borrow_mut().pop().unwrap_or_default()
    }

    fn put(&self, pages: Cow<'_, [u8]>) {
        let mut spare = self.0.borrow_mut();
        if let Cow::Owned(pages) = pages
            && spare.iter().map(Vec::capacity).sum::<usize>() + pages.capacity() <= SLICE_BYTES_MAX as usize
        {
            spare.push(pages);
        }
    }
}

/// The pages of one CPU.
struct PagedCpu {
    place: Place,
    /// The pages themselves, if they are in no file.
    held: Option<Vec<u8>>,
    /// Of compressed pages.
    chunks: Vec<Chunk>,
    /// In the order of their times.
    pieces: Vec<Piece>,
}

/// The least that is read: a page, or a chunk of compressed ones.
#[derive(Clone, Copy)]
struct Piece {
    begins_ns: u64,
    /// In the order of the file.
    number: u32,
}

impl Piece {
    fn of(number: u32, pages: &[u8], layout: &PageLayout) -> Piece {
        Piece { begins_ns: page_ts_ns(pages, layout).unwrap_or(u64::MAX), number }
    }
}

/// The pages of all CPUs in a stretch of time.
pub struct Window<'a> {
    from_ns: u64,
    to_ns: u64,
    pages: Buffer<'a>,
    spare: &'a Spare,
    /// Whether pages of the stretch had no room.
    pub is_cut: bool,
}

impl<'a> PagedTrace<'a> {
    /// Reads the metadata of a file.
    pub fn open(file: impl Into<Source<'a>>) -> PagedTrace<'a> {
        let Opened { trace, placed, compression, bytes } = Opened::of(file);
        let file_bytes = bytes.size();
        let has_pages =
            |buffer: &&PlacedBuffer| buffer.cpus.iter().any(|place| place.size > 0 && place.offset < file_bytes);
        // The top-level buffer may come last; if it is empty, it is not the main one.
        let main = placed.iter().find(has_pages).or(placed.first()).cloned();
        let (mut metadata, gaps) = (trace.metadata, trace.gaps);
        let layout = main.as_ref().map_or(metadata.layout, |main| main.layout);
        if let Some(main) = main.as_ref().filter(|_| metadata.clock.is_empty()) {
            metadata.clock.clone_from(&main.clock);
        }
        let cpu = |place| PagedCpu { place, held: None, chunks: Vec::new(), pieces: Vec::new() };
        let cpus = main.into_iter().flat_map(|main| main.cpus).map(cpu).collect();
        let (reader, spare) = (PageReader::new(bytes, compression), Spare::default());
        PagedTrace { metadata, gaps, layout, cpus, reader, spare }
    }

    /// A trace that is in no file: its pages by CPU, in the layout of the metadata.
    pub fn of_pages(metadata: Metadata, pages: Vec<(u32, Vec<u8>)>) -> PagedTrace<'static> {
        let cpu = |(cpu, pages): (u32, Vec<u8>)| {
            let place = Place { cpu, offset: 0, size: pages.len() as u64, is_packed: false };
            PagedCpu { place, held: Some(pages), chunks: Vec::new(), pieces: Vec::new() }
        };
        let (layout, cpus) = (metadata.layout, pages.into_iter().map(cpu).collect());
        let reader = PageReader::new(Bytes::new(&[], layout.byte_order), Compression::named("none"));
        PagedTrace { metadata, gaps: Vec::new(), layout, cpus, reader, spare: Spare::default() }
    }

    /// Numbers of the CPUs.
    pub fn cpus(&self) -> Vec<u32> {
        self.cpus.iter().map(|cpu| cpu.place.cpu).collect()
    }

    /// Layout of the pages.
    pub fn layout(&self) -> PageLayout {
        self.layout
    }

    /// Reads everything once, CPU by CPU, each in the order of the file. Windows and slices are of the pages that were read here.
    pub fn read_through(&mut self, mut visit: impl FnMut(u32, CpuRecords<'_>)) {
        let PagedTrace { gaps, layout, cpus, reader, spare, .. } = self;
        for cpu in cpus {
            cpu.pieces.clear();
            match cpu.place.is_packed {
                true => cpu.read_chunks(reader, gaps, layout, &mut visit),
                false => cpu.read_pages(reader, gaps, layout, spare, &mut visit),
            }
            if !cpu.pieces.is_sorted_by_key(|piece| piece.begins_ns) {
                cpu.pieces.sort_by_key(|piece| piece.begins_ns);
            }
        }
        gaps.extend(reader.file().failed().map(|error| Gap::Unreadable { error }));
    }

    /// Stretches of time (both ends inclusive) that follow each other, together everything, each of a few MiB.
    pub fn slices(&self) -> Vec<(u64, u64)> {
        let of = |cpu: &PagedCpu| -> Vec<(u64, u64)> {
            cpu.pieces.iter().map(|piece| (piece.begins_ns, cpu.bytes(piece, &self.layout))).collect()
        };
        let mut pieces: Vec<(u64, u64)> = self.cpus.iter().flat_map(of).collect();
        pieces.sort_unstable();
        let slice_bytes = (self.cpus.len() as u64 * SLICE_BYTES_OF_CPU).clamp(SLICE_BYTES, SLICE_BYTES_MAX);
        let (mut slices, mut from_ns, mut bytes) = (Vec::new(), 0, 0);
        for (begins_ns, size) in pieces {
            if bytes + size > slice_bytes && begins_ns > from_ns {
                slices.push((from_ns, begins_ns - 1));
                (from_ns, bytes) = (begins_ns, 0);
            }
            bytes += size;
        }
        slices.push((from_ns, u64::MAX));
        slices
    }

    /// The size of the pages of one CPU that overlap `from_ns..=to_ns`.
    pub fn bytes_in(&self, cpu: u32, from_ns: u64, to_ns: u64) -> u64 {
        let of = |cpu: &PagedCpu| -> u64 {
            cpu.overlapping(from_ns, to_ns).iter().map(|piece| cpu.bytes(piece, &self.layout)).sum()
        };
        self.cpus.iter().filter(|paged| paged.place.cpu == cpu).map(of).sum()
    }

    /// The pages of all CPUs that overlap `from_ns..=to_ns`.
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Window<'_> {
        self.window_of(&self.cpus, from_ns, to_ns)
    }

    /// The same of one CPU.
    pub fn cpu_window(&self, cpu: u32, from_ns: u64, to_ns: u64) -> Window<'_> {
        let at = self.cpus.iter().position(|paged| paged.place.cpu == cpu);
        self.window_of(at.map_or(&[], |at| &self.cpus[at..=at]), from_ns, to_ns)
    }

    fn window_of<'s>(&'s self, cpus: &'s [PagedCpu], from_ns: u64, to_ns: u64) -> Window<'s> {
        let (mut left, mut is_cut) = (WINDOW_BYTES_MAX, false);
        let read = |cpu: &'s PagedCpu| {
            let (wanted, memory) = (cpu.overlapping(from_ns, to_ns), self.spare.take());
            let (pages, whole) = cpu.read(&self.reader, &self.layout, wanted, &mut left, memory);
            is_cut |= !whole;
            CpuPages { cpu: cpu.place.cpu, pages }
        };
        let cpus = cpus.iter().map(read).collect();
        let pages = Buffer { name: String::new(), clock: String::new(), layout: self.layout, cpus };
        Window { from_ns, to_ns, pages, spare: &self.spare, is_cut }
    }
}

impl PagedCpu {
    fn read_chunks(
        &mut self,
        reader: &PageReader<'_>,
        gaps: &mut Vec<Gap>,
        layout: &PageLayout,
        visit: &mut impl FnMut(u32, CpuRecords<'_>),
    ) {
        let (chunks, mut failed) = reader.chunks(self.place.offset);
        for (number, chunk) in (0..).zip(&chunks) {
            let plain = match chunk.plain_bytes {
                0..=CHUNK_BYTES_MAX => reader.unpacked(chunk),
                _ => Err(CHUNK_TOO_LARGE),
            };
            match plain {
                Ok(plain) => {
                    self.pieces.push(Piece::of(number, &plain, layout));
                    visit(self.place.cpu, CpuRecords::new(self.place.cpu, &plain, layout));
                }
                Err(why) => {
                    failed = Some(why);
                    break;
                }
            }
        }
        self.chunks = chunks;
        gaps.extend(failed.map(|why| reader.gap(self.place.cpu, why)));
    }

    fn read_pages(
        &mut self,
        reader: &PageReader<'_>,
        gaps: &mut Vec<Gap>,
        layout: &PageLayout,
        spare: &Spare,
        visit: &mut impl FnMut(u32, CpuRecords<'_>),
    ) {
        if self.held.is_none() {
            self.place.size = reader.plain_bytes(gaps, &self.place);
        }
        let page_size = layout.page_size as u64;
        let step = (PASS_BYTES / page_size).max(1) * page_size;
        let mut pieces = Vec::new();
        for at in (0..self.place.size).step_by(usize::try_from(step).unwrap_or(usize::MAX)) {
            let pages = self.range(reader, at, step.min(self.place.size - at), spare.take());
            for page in pages.chunks(layout.page_size) {
                let number = pieces.len() as u32;
                pieces.push(Piece::of(number, page, layout));
            }
            visit(self.place.cpu, CpuRecords::new(self.place.cpu, &pages, layout));
            spare.put(pages);
        }
        self.pieces = pieces;
    }

    /// Bytes of uncompressed pages; a copy is in `memory`.
    fn range<'s>(&'s self, reader: &PageReader<'s>, at: u64, size: u64, memory: Vec<u8>) -> Cow<'s, [u8]> {
        match &self.held {
            Some(pages) => {
                let end = at.saturating_add(size).min(pages.len() as u64) as usize;
                Cow::Borrowed(pages.get(at as usize..end).unwrap_or_default())
            }
            None => reader.file().range_in(self.place.offset + at, size, memory),
        }
    }

    fn overlapping(&self, from_ns: u64, to_ns: u64) -> &[Piece] {
        let begins = |index: usize| self.pieces[index].begins_ns;
        &self.pieces[overlapping_in_order(self.pieces.len(), begins, from_ns, to_ns)]
    }

    fn bytes(&self, piece: &Piece, layout: &PageLayout) -> u64 {
        let chunk = self.chunks.get(piece.number as usize);
        chunk.map_or(layout.page_size as u64, |chunk| u64::from(chunk.plain_bytes))
    }

    /// These pages, as far as `left` suffices for copies, and whether it did. The first piece is always read.
    fn read<'s>(
        &'s self,
        reader: &PageReader<'s>,
        layout: &PageLayout,
        pieces: &[Piece],
        left: &mut u64,
        memory: Vec<u8>,
    ) -> (Cow<'s, [u8]>, bool) {
        if pieces.is_empty() {
            return (Cow::Borrowed(&[]), true);
        }
        let follow = pieces.windows(2).all(|pair| pair[0].number.checked_add(1) == Some(pair[1].number));
        let in_memory = self.held.is_some() || (!self.place.is_packed && reader.file().is_in_memory());
        if follow && in_memory {
            return (self.pages(reader, layout, pieces, memory), true);
        }
        let fits = |piece: &&Piece| {
            let rest = left.checked_sub(self.bytes(piece, layout));
            *left = rest.unwrap_or(*left);
            rest.is_some()
        };
        let count = pieces.iter().take_while(fits).count().max(1);
        let (read, whole) = (&pieces[..count], count == pieces.len());
        if self.place.is_packed {
            return (Cow::Owned(self.unpacked(reader, read)), whole);
        }
        let runs = read.chunk_by(|one, next| one.number.checked_add(1) == Some(next.number));
        let (mut pages, mut memory) = (Cow::Borrowed(&[][..]), memory);
        for run in runs {
            let run = self.pages(reader, layout, run, std::mem::take(&mut memory));
            if pages.is_empty() {
                pages = run;
            } else {
                let pages = pages.to_mut();
                // Behind the last page of the file, which may be cut short.
                pages.resize(pages.len().next_multiple_of(layout.page_size), 0);
                pages.extend_from_slice(&run);
            }
        }
        (pages, whole)
    }

    /// Uncompressed pages that follow each other.
    fn pages<'s>(
        &'s self,
        reader: &PageReader<'s>,
        layout: &PageLayout,
        run: &[Piece],
        memory: Vec<u8>,
    ) -> Cow<'s, [u8]> {
        let page_size = layout.page_size as u64;
        let at = u64::from(run.first().map_or(0, |piece| piece.number)) * page_size;
        let there = self.place.size.saturating_sub(at).min(run.len() as u64 * page_size);
        self.range(reader, at, there, memory)
    }

    fn unpacked(&self, reader: &PageReader<'_>, pieces: &[Piece]) -> Vec<u8> {
        let chunks = pieces.iter().filter_map(|piece| self.chunks.get(piece.number as usize));
        // The pass read each of them.
        let plain = chunks.filter_map(|chunk| reader.unpacked_again(chunk).ok());
        plain.fold(Vec::new(), |mut pages, plain| {
            pages.extend_from_slice(&plain);
            pages
        })
    }
}

impl Window<'_> {
    /// Items of all CPUs in chronological order.
    pub fn merged(&self) -> Merged<'_> {
        self.pages.window(self.from_ns, self.to_ns)
    }

    /// The same of these events alone, and all gaps.
    pub fn merged_only<'w>(&'w self, wanted: &'w EventSet) -> Merged<'w> {
        Merged::new(self.pages.windows(self.from_ns, self.to_ns).map(|records| records.only(wanted)))
    }

    /// Items of one CPU; none for a missing CPU.
    pub fn cpu_records(&self, cpu: u32) -> CpuRecords<'_> {
        CpuRecords::window(cpu, self.pages.cpu_pages(cpu), &self.pages.layout, self.from_ns, self.to_ns)
    }
}

impl Drop for Window<'_> {
    fn drop(&mut self) {
        self.pages.cpus.drain(..).for_each(|cpu| self.spare.put(cpu.pages));
    }
}
