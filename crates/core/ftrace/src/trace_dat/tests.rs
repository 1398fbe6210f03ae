//! Written files are read again: complete, truncated, damaged, and in every byte order and word size.

mod hostile;
mod paged;
mod properties;
mod windows;

use super::*;
use crate::byte_order::ByteOrder;
use crate::cpu_stats::CpuStats;
use crate::header::PageLayout;
use crate::metadata::MetadataText;
use crate::page::tests::PageMaker;

fn layouts() -> [PageLayout; 4] {
    [
        PageLayout::bits64(ByteOrder::Little),
        PageLayout::bits64(ByteOrder::Big),
        PageLayout::bits32(ByteOrder::Little),
        PageLayout::bits32(ByteOrder::Big).with_page_size(8192),
    ]
}

fn metadata(layout: &PageLayout) -> MetadataText {
    let data_size = layout.page_size - layout.data_offset;
    MetadataText {
        header_page: format!(
            "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
             \tfield: local_t commit;\toffset:8;\tsize:{};\tsigned:1;\n\
             \tfield: char data;\toffset:{};\tsize:{data_size};\tsigned:0;\n",
            layout.commit_size, layout.data_offset,
        ),
        header_event: "# compressed entry header\n".to_owned(),
        event_formats: vec![
            ("ftrace".to_owned(), "name: print\nID: 5\nformat:\n".to_owned()),
            ("sched".to_owned(), crate::format::tests::SCHED_WAKING.to_owned()),
            ("irq".to_owned(), "name: irq_handler_entry\nID: 90\nformat:\n".to_owned()),
        ],
        saved_cmdlines: "42 loop\n".to_owned(),
        printk_formats: "0x10 : \"text\"\n".to_owned(),
        kallsyms: "1000 T do_it\n".to_owned(),
    }
}

/// Common fields of an event `id` by thread 42, in the byte order of the layout.
fn payload(layout: &PageLayout, id: u16) -> Vec<u8> {
    [&layout.byte_order.u16_bytes(id)[..], &[0, 0], &layout.byte_order.u32_bytes(42)].concat()
}

fn page(layout: &PageLayout, ts_ns: u64) -> Vec<u8> {
    PageMaker::new(*layout, ts_ns).short(1, &payload(layout, 375)).short(2, &payload(layout, 90)).finish(0, None)
}

fn file(layout: &PageLayout) -> Vec<u8> {
    let metadata = metadata(layout);
    let first = [page(layout, 100), page(layout, 300)].concat();
    let third = page(layout, 200);
    let stats = CpuStats { entries: 4, overrun: 1, now_ts_ns: Some(5_000_001_000), ..CpuStats::default() };
    TraceDat {
        metadata: &metadata,
        layout: *layout,
        clock: "mono",
        uname: "Linux board",
        version: "test 1",
        cpu_count: 4,
        cpus: vec![
            CpuBytes { cpu: 0, pages: &first, stats: Some(stats) },
            CpuBytes { cpu: 1, pages: &[], stats: None },
            CpuBytes { cpu: 3, pages: &third, stats: None },
        ],
    }
    .to_vec()
}

fn places(file: &TraceFile<'_>) -> Vec<(u32, u64, u16)> {
    file.merged()
        .map(|item| match item {
            TraceItem::Record(record) => (record.cpu, record.ts_ns, record.id),
            TraceItem::Gap(gap) => (gap.cpu, gap.ts_ns, 0),
        })
        .collect()
}

const PLACES: [(u32, u64, u16); 6] =
    [(0, 101, 375), (0, 103, 90), (3, 201, 375), (3, 203, 90), (0, 301, 375), (0, 303, 90)];

#[test]
fn a_written_file_is_read_in_every_layout() {
    for layout in layouts() {
        let bytes = file(&layout);
        let file = TraceFile::parse(&bytes);
        assert_eq!(file.gaps, []);
        assert_eq!((file.version, file.layout(), file.cpus()), (7, layout, vec![0, 1, 3]));
        let metadata = &file.metadata;
        assert_eq!(
            (metadata.clock.as_str(), metadata.uname.as_str(), metadata.writer.as_str()),
            ("mono", "Linux board", "test 1")
        );
        assert_eq!(metadata.formats.find("sched", "sched_waking").unwrap().id, 375);
        assert_eq!((metadata.formats.len(), metadata.command_lines.name(42)), (3, Some("loop")));
        assert_eq!(metadata.printk_formats.text(16), Some("text"));
        assert_eq!(metadata.symbols.find(0x1001), Some(("do_it", 1)));
        let stats = metadata.cpu_stats[0].1;
        assert_eq!((metadata.cpu_stats.len(), stats.entries, stats.now_ts_ns), (1, 4, Some(5_000_001_000)));
        assert_eq!(places(&file), PLACES);
        assert_eq!(file.cpu_records(3).count(), 2);
        assert_eq!(file.cpu_records(2).count(), 0);
    }
}

#[test]
fn streaming_writes_the_same_bytes() {
    let layout = layouts()[0];
    let (metadata, pages) = (metadata(&layout), page(&layout, 7));
    let cpus =
        vec![CpuBytes { cpu: 0, pages: &pages[..100], stats: None }, CpuBytes { cpu: 1, pages: &pages, stats: None }];
    let trace = TraceDat { metadata: &metadata, layout, clock: "mono", uname: "", version: "", cpu_count: 2, cpus };
    let mut streamed = Vec::new();
    trace.write_to(&mut streamed).unwrap();
    assert_eq!(streamed, trace.to_vec());
}

#[test]
fn windows_hold_what_lies_inside() {
    let bytes = file(&layouts()[0]);
    let whole = TraceFile::parse(&bytes);
    let inside = |items: Merged<'_>| items.map(|item| item.ts_ns()).collect::<Vec<_>>();
    assert_eq!(inside(whole.window(103, 301)), [103, 201, 203, 301]);
    let cut = TraceFile::parse_window(&bytes, 290, 400);
    assert_eq!(cut.cpu_records(0).count(), 4, "the page before reaches up to 300");
    assert_eq!(inside(cut.window(290, 400)), [301, 303]);
}

#[test]
fn a_file_cut_anywhere_opens_with_what_is_there() {
    for layout in [layouts()[0], layouts()[3]] {
        let bytes = file(&layout);
        let whole = TraceFile::parse(&bytes);
        let pages_at = bytes.len() - 3 * layout.page_size;
        for length in 0..bytes.len() {
            let cut = TraceFile::parse(&bytes[..length]);
            assert!(!cut.gaps.is_empty(), "cut at {length}: no gap named");
            let on_disk = bytes[..length].to_vec();
            assert_eq!(TraceFile::parse(Source::Reader(&on_disk)).gaps, cut.gaps, "cut at {length}, from a file");
            if length >= pages_at {
                assert_eq!(cut.metadata.formats.len(), whole.metadata.formats.len());
                assert_eq!(cut.cpus(), whole.cpus());
                let there = places(&cut);
                let (known, gaps): (Vec<_>, Vec<_>) = there.into_iter().partition(|(_, _, id)| *id != 0);
                assert!(known.iter().all(|place| PLACES.contains(place)), "cut at {length}: {known:?}");
                assert!(gaps.len() <= 1);
            }
        }
        // Sections are found without the options that point to them, as when the writer was interrupted.
        let options_at = layout.byte_order.u64_at(&bytes, 24).unwrap() as usize;
        let cut = TraceFile::parse(&bytes[..options_at]);
        assert_eq!((cut.metadata.formats.len(), cut.metadata.command_lines.name(42)), (3, Some("loop")));
    }
}

#[test]
fn a_file_that_is_not_a_trace_is_named() {
    for bytes in [&b""[..], b"hello", b"\x17\x08\x44tracin"] {
        let file = TraceFile::parse(bytes);
        assert_eq!((file.gaps.as_slice(), file.merged().count()), (&[Gap::NotATrace][..], 0));
    }
    let future = TraceFile::parse(b"\x17\x08\x44tracing8\0\0\x08\0\x10\0\0");
    assert!(matches!(&future.gaps[0], Gap::Unsupported { what } if what.contains("version 8")), "{:?}", future.gaps);
}

#[test]
fn timestamps_that_would_need_shifting_are_said_to() {
    let mut bytes = file(&layouts()[0]);
    let cpu_count_option = [8, 0, 4, 0, 0, 0, 4, 0, 0, 0];
    let at = bytes.windows(10).position(|window| window == cpu_count_option).unwrap();
    bytes[at] = 7;
    let trace = TraceFile::parse(&bytes);
    let expected = Gap::Unsupported { what: "an offset to add to the timestamps".to_owned() };
    assert_eq!((trace.gaps.as_slice(), places(&trace)), (&[expected][..], PLACES.to_vec()));
}

/// A hand-made version 7 file: command lines and buffers, each with one CPU with these pages.
fn handmade(compression: &str, pack: impl Fn(&[u8]) -> Vec<u8>, buffers: &[(&str, &[Vec<u8>])]) -> Vec<u8> {
    let flags = u16::from(compression != "none");
    let section = |number: u16, content: &[u8]| {
        let size = (content.len() as u64).to_le_bytes();
        [&number.to_le_bytes()[..], &flags.to_le_bytes(), &[0; 4], &size, content].concat()
    };
    let option =
        |number: u16, data: &[u8]| [&number.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat();
    let mut file = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0".to_vec();
    file.extend(compression.as_bytes());
    file.extend(b"\x001.2\0");
    let options_at_place = file.len();
    file.extend([0; 8]);

    let mut options = option(21, &(file.len() as u64).to_le_bytes());
    file.extend(section(21, &pack(b"\x08\0\0\0\0\0\0\x0042 loop\n")));
    for (name, pages) in buffers {
        let mut content: Vec<u8> = pages.iter().flat_map(|page| pack(page)).collect();
        let size = content.len() as u64;
        if flags == 1 {
            content.splice(0..0, (pages.len() as u32).to_le_bytes());
        }
        let mut data = (file.len() as u64).to_le_bytes().to_vec();
        data.extend(name.as_bytes());
        data.extend(b"\0mono\0");
        data.extend([4096u32, 1, 0].map(u32::to_le_bytes).concat());
        data.extend((file.len() as u64 + 16).to_le_bytes());
        data.extend(size.to_le_bytes());
        options.extend(option(3, &data));
        file.extend(section(3, &content));
    }
    options.extend(option(0, &0u64.to_le_bytes()));
    let options_at = file.len() as u64;
    file.extend(section(0, &pack(&options)));
    file[options_at_place..options_at_place + 8].copy_from_slice(&options_at.to_le_bytes());
    file
}

/// As in trace-cmd: a metadata section is one chunk, pages are counted chunks.
#[cfg(feature = "zlib")]
#[test]
fn zlib_is_read() {
    let layout = layouts()[0];
    let pack = |plain: &[u8]| {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(plain, 6);
        [&(packed.len() as u32).to_le_bytes()[..], &(plain.len() as u32).to_le_bytes(), &packed].concat()
    };
    let bytes = handmade("zlib", pack, &[("", &[page(&layout, 100), page(&layout, 200)])]);
    let trace = TraceFile::parse(&bytes);
    assert_eq!(trace.gaps, []);
    assert_eq!(trace.metadata.command_lines.name(42), Some("loop"));
    assert_eq!(places(&trace), [(0, 101, 375), (0, 103, 90), (0, 201, 375), (0, 203, 90)]);
    assert_eq!(TraceFile::parse_window(&bytes, 0, 150).merged().count(), 2);
}

#[test]
fn an_unknown_compression_is_named() {
    let bytes = handmade("brotli", <[u8]>::to_vec, &[]);
    let gaps: Vec<String> = TraceFile::parse(&bytes).gaps.iter().map(Gap::to_string).collect();
    assert!(gaps.iter().any(|gap| gap.contains("compression \"brotli\"")), "{gaps:?}");
}

#[test]
fn instances_are_buffers_of_their_own_and_an_empty_top_level_comes_last() {
    let layout = layouts()[0];
    let buffers: [(&str, &[Vec<u8>]); 3] =
        [("", &[]), ("first", &[page(&layout, 100)]), ("second", &[page(&layout, 500), page(&layout, 600)])];
    let bytes = handmade("none", <[u8]>::to_vec, &buffers);
    let trace = TraceFile::parse(&bytes);
    assert_eq!(trace.gaps, []);
    let found: Vec<_> = trace.buffers.iter().map(|buffer| (buffer.name.as_str(), buffer.merged().count())).collect();
    assert_eq!(found, [("first", 2), ("second", 4), ("", 0)]);
    assert_eq!((trace.metadata.clock.as_str(), trace.merged().count()), ("mono", 2));
}
