//! A valid flight record with changed lengths, addresses and parts.
#![no_main]

use ftrace::flight_record::FlightRecord;
use ftrace::kernel_symbols::KernelSymbols;
use libfuzzer_sys::fuzz_target;
use tardy_fuzz::{Damage, spoilt, within_budget};

const SOUND: &[u8] = include_bytes!("../../corpus/flight-records/rcu-frees-pages/record.bin");

fuzz_target!(|damages: Vec<Damage>| {
    let bytes = spoilt(SOUND, &damages);
    within_budget(bytes.len(), || {
        let record = FlightRecord::parse(&bytes);
        let symbols = KernelSymbols::parse(&record.symbols);
        assert!(record.stretches(&symbols).len() <= record.blocks.len());
    });
});
