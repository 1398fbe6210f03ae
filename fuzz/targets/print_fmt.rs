//! Any text as the print format of a real event, on any record.
#![no_main]

use ftrace::byte_order::ByteOrder;
use ftrace::format::EventFormat;
use ftrace::header::PageLayout;
use ftrace::metadata::Metadata;
use ftrace::print_fmt::EventPrinter;
use ftrace::trace_dat::Record;
use libfuzzer_sys::fuzz_target;
use tardy_fuzz::within_budget;

const FIELDS: &str = "name: test\nID: 9\nformat:\n\
    \tfield:int a;\toffset:8;\tsize:4;\tsigned:1;\n\
    \tfield:u64 b;\toffset:16;\tsize:8;\tsigned:0;\n\
    \tfield:char c[8];\toffset:24;\tsize:8;\tsigned:0;\n\
    \tfield:__data_loc char[] d;\toffset:32;\tsize:4;\tsigned:0;\n\
    \tfield:unsigned char e[4];\toffset:36;\tsize:4;\tsigned:0;\n";

fuzz_target!(|input: (&str, &[u8])| {
    within_budget(input.0.len() + input.1.len(), || {
        let (print_fmt, payload) = input;
        let mut metadata = Metadata::empty(PageLayout::bits64(ByteOrder::Little));
        let text = format!("{FIELDS}\nprint fmt: {print_fmt}\n");
        metadata.formats.extend(EventFormat::parse("test", &text, ByteOrder::Little));
        let record =
            Record { cpu: 0, ts_ns: 0, id: 9, common_flags: 0, common_preempt_count: 0, common_pid: 0, payload };
        let mut text = String::new();
        EventPrinter::new(&metadata).print(&record, &mut text);
    });
});
