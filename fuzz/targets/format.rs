//! Any text as an event format, any bytes as a record of it, and any text as the other tables of a trace.
#![no_main]

use ftrace::byte_order::ByteOrder;
use ftrace::cmdlines::CommandLines;
use ftrace::cpu_stats::CpuStats;
use ftrace::format::EventFormat;
use ftrace::header::PageLayout;
use ftrace::kernel_symbols::KernelSymbols;
use ftrace::printk_formats::PrintkFormats;
use libfuzzer_sys::fuzz_target;
use tardy_fuzz::within_budget;

fuzz_target!(|input: (&str, &[u8])| {
    within_budget(input.0.len() + input.1.len(), || {
        let (text, payload) = input;
        if let Some(format) = EventFormat::parse("system", text, ByteOrder::Little) {
            for field in &format.fields {
                field.int(payload);
                field.text(payload);
                field.element(payload, 1);
            }
        }
        PageLayout::parse(text, ByteOrder::Big);
        CommandLines::parse(text);
        CpuStats::parse(text);
        KernelSymbols::parse(text).find(0x1000);
        PrintkFormats::parse(text);
    });
});
