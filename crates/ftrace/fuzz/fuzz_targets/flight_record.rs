//! Any bytes as a flight record.
#![no_main]

use ftrace::flight_record::FlightRecord;
use ftrace::kernel_symbols::KernelSymbols;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let record = FlightRecord::parse(bytes);
    assert!(record.blocks.len() <= bytes.len() / 8);
    let symbols = KernelSymbols::parse("ffffffff81000000 T start\nffffffff82000000 T end\n");
    assert!(record.stretches(&symbols).len() <= record.blocks.len());
});
