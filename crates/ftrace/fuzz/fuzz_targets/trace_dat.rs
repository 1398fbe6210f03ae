//! Any bytes as a trace.dat file, printed to the last event.
#![no_main]

use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::{TraceFile, TraceItem};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let file = TraceFile::parse(bytes);
    let mut printer = EventPrinter::new(&file.metadata);
    let mut text = String::new();
    for item in file.merged().take(1000) {
        if let TraceItem::Record(record) = item {
            printer.print(&record, &mut text);
        }
    }
    TraceFile::parse_window(bytes, 1000, 1 << 40).window(1000, 1 << 40).take(1000).for_each(drop);
});
