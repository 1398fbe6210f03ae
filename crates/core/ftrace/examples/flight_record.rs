//! Prints a flight record: `cargo run --example flight_record FILE SYMBOLS [INSTRUCTIONS]`, where SYMBOLS contains
//! lines as in /proc/kallsyms and INSTRUCTIONS is the distance before the marker at which to start.

use ftrace::flight_record::{FlightRecord, Place};
use ftrace::kernel_symbols::KernelSymbols;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, symbols, rest @ ..] = arguments.as_slice() else {
        eprintln!("usage: flight_record FILE SYMBOLS [INSTRUCTIONS]");
        std::process::exit(2);
    };
    let far_back = rest.first().and_then(|text| text.parse().ok()).unwrap_or(u64::MAX);
    let record = FlightRecord::parse(&std::fs::read(file)?);
    let symbols = KernelSymbols::parse(&std::fs::read_to_string(symbols)?);
    let stretches = record.stretches(&symbols);
    println!("marker {}, {} blocks, {:?}", record.marker, record.blocks.len(), record.gaps);
    for stretch in stretches.iter().filter(|stretch| stretch.before_marker <= far_back) {
        let name = match stretch.place {
            Place::Function(name) => name,
            Place::Program => "(program)",
            Place::Unknown => "(unknown)",
        };
        println!("-{:<9} {:>7} {} {name}", stretch.before_marker, stretch.instructions, stretch.halts);
    }
    Ok(())
}
