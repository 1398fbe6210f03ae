//! The flight records of the corpus, each with its expected output. `UPDATE_GOLDEN=1` writes the expectations.
//!
//! Records of version 1 have their symbols in a separate file. Those of version 2 do not contain the kernel's code.

use fixtures::repository::repository_path;
use ftrace::flight_record::{FlightRecord, Place};
use ftrace::kernel_symbols::KernelSymbols;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

fn records() -> Vec<PathBuf> {
    let corpus = repository_path("corpus/flight-records");
    let mut found: Vec<PathBuf> =
        fs::read_dir(corpus).expect("the corpus").map(|entry| entry.expect("an entry").path()).collect();
    found.retain(|path| path.is_dir());
    found.sort();
    assert!(!found.is_empty());
    found
}

fn name<'a>(place: &Place<'a>) -> &'a str {
    match place {
        Place::Function(name) => name,
        Place::Program => "(program)",
        Place::Unknown => "(unknown)",
    }
}

/// The gaps, the time of each place since the last halt, and the last stretches one by one.
fn text_of(record: &FlightRecord, symbols: &KernelSymbols) -> String {
    let stretches = record.stretches(symbols);
    let mut sums: BTreeMap<&str, u64> = BTreeMap::new();
    for stretch in stretches.iter().filter(|stretch| stretch.halts == 0) {
        *sums.entry(name(&stretch.place)).or_default() += stretch.instructions;
    }
    let mut sums: Vec<_> = sums.into_iter().collect();
    sums.sort_by_key(|&(name, instructions)| (std::cmp::Reverse(instructions), name));
    let mut text = format!("wake-up {}\n", record.marker);
    for gap in &record.gaps {
        writeln!(text, "gap: {gap:?}").expect("memory");
    }
    text.push_str("\nsince the last halt, ns of virtual time\n");
    for (name, instructions) in sums.iter().take(12) {
        writeln!(text, "{instructions:>8} {name}").expect("memory");
    }
    text.push_str("\nthe last stretches: ns before the wake-up was seen, length, place\n");
    for stretch in &stretches[stretches.len().saturating_sub(120)..] {
        writeln!(text, "{:>8} {:>6} {}", stretch.before_marker, stretch.instructions, name(&stretch.place))
            .expect("memory");
    }
    text
}

#[test]
fn every_record_of_the_corpus_shows_what_is_expected() {
    for directory in records() {
        let record = FlightRecord::parse(&fs::read(directory.join("record.bin")).expect("a record"));
        let beside = || fs::read_to_string(directory.join("symbols.txt")).expect("symbols");
        let symbols = if record.symbols.is_empty() { beside() } else { record.symbols.clone() };
        let symbols = KernelSymbols::parse(&symbols);
        let (text, path) = (text_of(&record, &symbols), directory.join("expected.txt"));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&path, &text).expect("a writable corpus");
        }
        let own_code = record.code.iter().all(|code| code.address >> 63 == 0);
        assert!(own_code, "{}: the code of the kernel is not ours to keep", directory.display());
        assert_eq!(text, fs::read_to_string(&path).expect("an expectation"), "{}", directory.display());
    }
}
