//! Any bytes as a trace.dat file, with and without its first fields, printed to the last event; a window of it has the same
//! contents from memory and from a file.
#![no_main]

use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::{Source, TraceFile, TraceItem};
use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::within_budget;

/// The fields before those that differ from file to file. Bytes at random never get beyond them.
#[derive(Debug, arbitrary::Arbitrary)]
enum Head {
    Missing,
    Version6 { big_endian: bool, bits64: bool },
    Version7 { big_endian: bool, bits64: bool, zstd: bool },
}

impl Head {
    fn bytes(&self) -> Vec<u8> {
        let (version, big_endian, bits64, compression): (_, _, _, &[u8]) = match *self {
            Self::Missing => return Vec::new(),
            Self::Version6 { big_endian, bits64 } => ("6", big_endian, bits64, b""),
            Self::Version7 { big_endian, bits64, zstd: false } => ("7", big_endian, bits64, b"none\0\0"),
            Self::Version7 { big_endian, bits64, zstd: true } => ("7", big_endian, bits64, b"zstd\x001\0"),
        };
        let page_size = if big_endian { 4096_u32.to_be_bytes() } else { 4096_u32.to_le_bytes() };
        let numbers = [big_endian.into(), if bits64 { 8 } else { 4 }];
        [b"\x17\x08\x44tracing", version.as_bytes(), b"\0", &numbers, &page_size, compression].concat()
    }
}

fuzz_target!(|input: (Head, &[u8])| {
    let (head, rest) = input;
    let bytes = [&head.bytes(), rest].concat();
    within_budget(bytes.len(), || {
        let file = TraceFile::parse(&*bytes);
        let mut printer = EventPrinter::new(&file.metadata);
        let mut text = String::new();
        for item in file.merged().take(1000) {
            if let TraceItem::Record(record) = item {
                printer.print(&record, &mut text);
            }
        }
        let in_memory = TraceFile::parse_window(&*bytes, 1000, 1 << 40);
        let from_file = TraceFile::parse_window(Source::Reader(&bytes), 1000, 1 << 40);
        assert_eq!(in_memory.gaps, from_file.gaps);
        assert!(in_memory.window(1000, 1 << 40).take(1000).eq(from_file.window(1000, 1 << 40).take(1000)));
    });
});
