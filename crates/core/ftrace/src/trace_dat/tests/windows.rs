//! Reading through a window gives the same result as reading the whole file, and reads little else.

use std::cell::Cell;
use std::io;

use proptest::prelude::*;

use super::properties::{Event, event, pack};
use super::*;

/// A file that counts its reads, and fails from some offset on.
pub(super) struct File {
    pub bytes: Vec<u8>,
    pub read: Cell<usize>,
    broken_from: u64,
}

impl File {
    pub fn new(bytes: Vec<u8>) -> File {
        File { bytes, read: Cell::new(0), broken_from: u64::MAX }
    }
}

impl ReadAt for File {
    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if offset >= self.broken_from {
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        // A read may return less than requested.
        let shorter = buffer.len().min(1000).min((self.broken_from - offset) as usize);
        let count = self.bytes.read_at(offset, &mut buffer[..shorter])?;
        self.read.set(self.read.get() + count);
        Ok(count)
    }
}

/// A file of version 6 with these pages per CPU.
pub(super) fn version6(cpus: &[Vec<u8>]) -> Vec<u8> {
    let sized = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let mut file = b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0header_page\0".to_vec();
    file.extend(sized(""));
    file.extend(b"header_event\0");
    file.extend(sized(""));
    // No formats of either kind, no functions, no printk formats.
    file.extend([0; 16]);
    file.extend(sized("42 loop\n"));
    file.extend((cpus.len() as u32).to_le_bytes());
    file.extend(b"options  \0\0\0flyrecord\0");
    let clock = sized("local [mono]");
    let mut at = file.len() + 16 * cpus.len() + clock.len();
    for pages in cpus {
        file.extend((at as u64).to_le_bytes());
        file.extend((pages.len() as u64).to_le_bytes());
        at += pages.len();
    }
    file.extend(clock);
    file.extend(cpus.concat());
    file
}

pub(super) fn version7(layout: PageLayout, cpus: &[Vec<u8>]) -> Vec<u8> {
    let metadata = metadata(&layout);
    let cpus = cpus.iter().zip(0..).map(|(pages, cpu)| CpuBytes { cpu, pages, stats: None }).collect();
    TraceDat { metadata: &metadata, layout, clock: "mono", uname: "", version: "", cpu_count: 9, cpus }.to_vec()
}

#[cfg(feature = "zlib")]
pub(super) fn compressed(pages: &[u8]) -> Vec<u8> {
    let pack = |plain: &[u8]| {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(plain, 1);
        [&(packed.len() as u32).to_le_bytes()[..], &(plain.len() as u32).to_le_bytes(), &packed].concat()
    };
    let pages: Vec<Vec<u8>> = pages.chunks(4096).map(<[u8]>::to_vec).collect();
    handmade("zlib", pack, &[("", &pages)])
}

/// The contents of a window, read from memory as a whole and from a file through the window.
fn both_ways(bytes: Vec<u8>, from_ns: u64, to_ns: u64) -> [Vec<(u32, u64, Vec<u8>)>; 2] {
    let items = |trace: &TraceFile<'_>| -> Vec<(u32, u64, Vec<u8>)> {
        assert_eq!(trace.gaps, []);
        let record = |item| match item {
            TraceItem::Record(record) => (record.cpu, record.ts_ns, record.payload.to_vec()),
            TraceItem::Gap(gap) => panic!("{gap:?}"),
        };
        let inside = |item: &TraceItem<'_>| (from_ns..=to_ns).contains(&item.ts_ns());
        trace.merged().filter(inside).map(record).collect()
    };
    let whole = items(&TraceFile::parse(&bytes));
    let file = File::new(bytes);
    let trace = TraceFile::parse_window(Source::Reader(&file), from_ns, to_ns);
    [whole, items(&trace)]
}

fn packed(layout: PageLayout, cpus: &[Vec<Event>]) -> Vec<Vec<u8>> {
    cpus.iter().map(|events| pack(layout, 1000, events).0).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn a_window_of_a_file_holds_what_the_whole_file_has_there(
        which in 0..4usize,
        cpus in prop::collection::vec(prop::collection::vec(event(), 0..300), 1..4),
        edges in any::<[prop::sample::Index; 2]>(),
    ) {
        let layout = layouts()[which].with_page_size(512);
        let pages = packed(layout, &cpus);
        let mut stamps: Vec<u64> = Merged::new(pages.iter().map(|pages| CpuRecords::new(0, pages, &layout))).map(|item| item.ts_ns()).collect();
        stamps.push(500);
        let [one, other] = edges.map(|edge| stamps[edge.index(stamps.len())]);
        let (from_ns, to_ns) = (one.min(other), one.max(other));
        let [whole, window] = both_ways(version7(layout, &pages), from_ns, to_ns);
        prop_assert_eq!(whole, window);
        let usual = layouts()[0];
        let pages = packed(usual, &cpus);
        let [whole, window] = both_ways(version6(&pages), from_ns, to_ns);
        prop_assert_eq!(whole, window);
        #[cfg(feature = "zlib")]
        {
            let [whole, window] = both_ways(compressed(&pages[0]), from_ns, to_ns);
            prop_assert_eq!(whole, window);
        }
    }
}

/// Pages of one event each, 1000 ns apart.
pub(super) fn many_pages(count: u64) -> Vec<u8> {
    let layout = layouts()[0];
    (0..count).flat_map(|index| page(&layout, 1000 * index)).collect()
}

#[test]
fn little_is_read_outside_of_the_window() {
    let pages = many_pages(1000);
    let one = std::slice::from_ref(&pages);
    for bytes in [version7(layouts()[0], one), version6(one)] {
        let metadata_bytes = bytes.len() - pages.len();
        let file = File::new(bytes);
        let trace = TraceFile::parse_window(Source::Reader(&file), 700_000, 702_000);
        assert_eq!(trace.merged().count(), 8, "the page before and three inside");
        assert!(file.read.get() < metadata_bytes + 8 * 4096, "{} bytes", file.read.get());
    }
}

#[cfg(feature = "zlib")]
#[test]
fn few_chunks_are_unpacked_outside_of_the_window() {
    let bytes = compressed(&many_pages(1000));
    let size = bytes.len();
    let file = File::new(bytes);
    let trace = TraceFile::parse_window(Source::Reader(&file), 700_000, 702_000);
    assert_eq!((trace.gaps.as_slice(), trace.merged().count()), (&[][..], 8));
    assert!(file.read.get() < size / 4, "{} of {size} bytes", file.read.get());
}

#[test]
fn pages_out_of_order_are_not_cut_off_a_file() {
    let layout = layouts()[0];
    let mut pages = page(&layout, 900_000);
    pages.extend(many_pages(100));
    let file = File::new(version7(layout, &[pages]));
    let trace = TraceFile::parse_window(Source::Reader(&file), 900_000, 901_000);
    assert!(trace.merged().any(|item| item.ts_ns() == 900_001));
}

#[test]
fn a_file_that_cannot_be_read_to_its_end_says_so() {
    let layout = layouts()[0];
    let pages = many_pages(4);
    let bytes = version7(layout, &[pages.clone(), pages]);
    let broken_from = bytes.len() as u64 - 4 * 4096 + 100;
    let file = File { broken_from, ..File::new(bytes) };
    let trace = TraceFile::parse(Source::Reader(&file));
    assert_eq!(trace.gaps, [Gap::Unreadable { error: io::ErrorKind::ConnectionReset }]);
    assert_eq!(trace.cpu_records(0).count(), 8);
    for broken_from in (0..broken_from).step_by(37) {
        let file = File { broken_from, ..File::new(file.bytes.clone()) };
        let trace = TraceFile::parse_window(Source::Reader(&file), 1000, 2000);
        let unreadable = trace.gaps.iter().any(|gap| matches!(gap, Gap::Unreadable { .. }));
        assert!(unreadable || trace.merged().count() > 0, "broken from {broken_from} on");
    }
}
