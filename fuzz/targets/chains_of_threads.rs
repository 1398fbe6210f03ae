//! Any text as a declaration of chains, followed through a recording that is damaged, or any bytes: each ledger sums to its latency.
#![no_main]

use chains::declaration::ChainFile;
use chains::discover::{declared, discover};
use chains::recorded::Recorded;
use ftrace::trace_dat::PagedTrace;
use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::{Damage, spoilt, within_budget};

/// A trace.dat of version 7 with zstd inside, and one of version 6 without it.
const PACKED: [&[u8]; 2] = [
    include_bytes!("../../corpus/foreign/hog-local.dat.gz"),
    include_bytes!("../../corpus/foreign/hog-version6.dat.gz"),
];

#[derive(Debug, arbitrary::Arbitrary)]
struct Input<'a> {
    declaration: &'a str,
    which: u8,
    damages: Vec<Damage>,
}

fuzz_target!(|input: Input| {
    let packed = PACKED[usize::from(input.which) % PACKED.len()];
    let plain = evidence::file::unpacked(packed).expect("a valid recording");
    let file = spoilt(&plain, &input.damages);
    within_budget(file.len() + input.declaration.len(), || {
        let written = ChainFile::parse(input.declaration).unwrap_or(ChainFile { chain: Vec::new() });
        let recorded = [Recorded::of(&mut PagedTrace::open(&file[..]), &written.events())];
        let found = declared(&discover(&recorded)).chain;
        for chain in found.iter().chain(&written.chain) {
            for instance in chains::account(&recorded, chain, usize::MAX).instances {
                let sum: i64 = instance.segments.iter().map(|segment| segment.end_ns - segment.start_ns).sum();
                assert_eq!(sum, instance.end_ns - instance.stimulus_ns, "a ledger sums to its latency");
            }
        }
    });
});
