//! Prints those lines of SYMBOLS that a flight record needs: `cargo run --example flight_symbols FILE SYMBOLS`.

use ftrace::flight_record::FlightRecord;
use ftrace::kernel_symbols::excerpt;
use std::collections::BTreeSet;

fn main() -> std::io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [file, symbols] = arguments.as_slice() else {
        eprintln!("usage: flight_symbols FILE SYMBOLS");
        std::process::exit(2);
    };
    let record = FlightRecord::parse(&std::fs::read(file)?);
    let addresses: BTreeSet<u64> =
        record.blocks.iter().map(|block| block.address).filter(|address| address >> 63 != 0).collect();
    print!("{}", excerpt(&std::fs::read_to_string(symbols)?, &Vec::from_iter(addresses)));
    Ok(())
}
