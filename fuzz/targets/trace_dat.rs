//! Any bytes as a trace.dat file, printed to the last event; a window of it has the same contents from memory and from
//! a file.
#![no_main]

use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::{Source, TraceFile, TraceItem};
use libfuzzer_sys::fuzz_target;
use tardy_fuzz::within_budget;

fuzz_target!(|bytes: &[u8]| {
    within_budget(bytes.len(), || {
        let file = TraceFile::parse(bytes);
        let mut printer = EventPrinter::new(&file.metadata);
        let mut text = String::new();
        for item in file.merged().take(1000) {
            if let TraceItem::Record(record) = item {
                printer.print(&record, &mut text);
            }
        }
        let owned = bytes.to_vec();
        let in_memory = TraceFile::parse_window(bytes, 1000, 1 << 40);
        let from_file = TraceFile::parse_window(Source::Reader(&owned), 1000, 1 << 40);
        assert_eq!(in_memory.gaps, from_file.gaps);
        assert!(in_memory.window(1000, 1 << 40).take(1000).eq(from_file.window(1000, 1 << 40).take(1000)));
    });
});
