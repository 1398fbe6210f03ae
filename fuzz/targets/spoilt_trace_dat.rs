//! A valid trace.dat of version 6 or 7 with changed lengths, offsets and parts: the rest can be read, at a cost bounded
//! by its size.
#![no_main]

use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::{Source, TraceFile, TraceItem};
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tardy_fuzz::{Damage, spoilt, within_budget};

const VERSION7: &[u8] = include_bytes!("../../corpus/explain/priority-inversion/trace.dat");
const VERSION7_OF_A_MACHINE: &[u8] = include_bytes!("../../corpus/explain/steal--idle-emulated-6.1-rt/trace.dat");
static VERSION6: LazyLock<Vec<u8>> = LazyLock::new(version6);

/// As written by trace-cmd before version 3, with one page of a real trace for each of two CPUs.
fn version6() -> Vec<u8> {
    let sized = |text: &str| [&(text.len() as u64).to_le_bytes()[..], text.as_bytes()].concat();
    let trace = TraceFile::parse(VERSION7);
    let pages: Vec<u8> = trace.cpus().into_iter().flat_map(|cpu| trace.buffers[0].cpu_pages(cpu).to_vec()).collect();
    let mut file = b"\x17\x08\x44tracing6\0\0\x08\0\x10\0\0header_page\0".to_vec();
    file.extend(sized(""));
    file.extend(b"header_event\0");
    file.extend(sized(""));
    file.extend(1_u32.to_le_bytes());
    file.extend(sized(
        "name: function\nID: 1\nformat:\n\tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\nprint fmt: \"%d\", REC->a\n",
    ));
    // No formats of event systems.
    file.extend(0_u32.to_le_bytes());
    for text in ["ffffffff81000000 T start\n", "0x1 : \"text\"\n"] {
        file.extend((text.len() as u32).to_le_bytes());
        file.extend(text.as_bytes());
    }
    file.extend(sized("42 loop\n"));
    file.extend(2_u32.to_le_bytes());
    file.extend(b"options  \0\0\0flyrecord\0");
    let clock = sized("local [mono]");
    let first = file.len() + 32 + clock.len();
    let half = pages.len() / 2;
    for (at, size) in [(first, half), (first + half, pages.len() - half)] {
        file.extend((at as u64).to_le_bytes());
        file.extend((size as u64).to_le_bytes());
    }
    file.extend(clock);
    file.extend(pages);
    file
}

fuzz_target!(|input: (u8, Vec<Damage>)| {
    let (which, damages) = input;
    let sound = match which % 3 {
        0 => VERSION7,
        1 => VERSION7_OF_A_MACHINE,
        _ => &VERSION6,
    };
    let bytes = spoilt(sound, &damages);
    within_budget(bytes.len(), || {
        let file = TraceFile::parse(&*bytes);
        let mut printer = EventPrinter::new(&file.metadata);
        for item in file.merged().take(1000) {
            if let TraceItem::Record(record) = item {
                printer.print(&record, &mut String::new());
            }
        }
        let from_file = TraceFile::parse_window(Source::Reader(&bytes), 1000, 1 << 60);
        from_file.window(1000, 1 << 60).take(1000).for_each(drop);
    });
});
