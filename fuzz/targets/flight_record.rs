//! Any bytes as a flight record.
#![no_main]

use ftrace::flight_record::FlightRecord;
use ftrace::kernel_symbols::KernelSymbols;
use libfuzzer_sys::fuzz_target;
use tardy_fuzz::within_budget;

fuzz_target!(|bytes: &[u8]| {
    within_budget(bytes.len(), || {
        let record = FlightRecord::parse(bytes);
        let symbols = KernelSymbols::parse("ffffffff81000000 T start\nffffffff82000000 T end\n");
        assert!(record.stretches(&symbols).len() <= record.blocks.len());
    });
});
