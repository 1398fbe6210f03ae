//! Any bytes as pages of one CPU, in every layout.
#![no_main]

use ftrace::byte_order::ByteOrder;
use ftrace::header::PageLayout;
use ftrace::trace_dat::{CpuRecords, Merged, cut_pages};
use libfuzzer_sys::fuzz_target;
use tardy_fuzz::within_budget;

fuzz_target!(|bytes: &[u8]| {
    within_budget(bytes.len(), || {
        for layout in [PageLayout::bits64(ByteOrder::Little), PageLayout::bits32(ByteOrder::Big).with_page_size(256)] {
            let items = CpuRecords::new(0, bytes, &layout).count();
            assert!(items <= bytes.len() + 2);
            let window = CpuRecords::window(1, bytes, &layout, 1 << 20, 1 << 50);
            Merged::new([CpuRecords::new(0, bytes, &layout), window]).count();
            cut_pages(bytes, &layout, 1 << 20, 1 << 50);
        }
    });
});
