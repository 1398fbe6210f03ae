//! A valid recording of another tool, damaged, or any bytes, with and without the compression around them: refused, or an archive with the
//! trace of each spike.
#![no_main]

use evidence::archived::{Origin, archived};
use evidence::request::Request;
use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::{Damage, spoilt, within_budget};

/// A trace.dat of version 7 with zstd inside, one of version 6 without it, and texts.
const PACKED: [&[u8]; 5] = [
    include_bytes!("../../corpus/foreign/hog-local.dat.gz"),
    include_bytes!("../../corpus/foreign/hog-version6.dat.gz"),
    include_bytes!("../../corpus/foreign/overrun-local.dat.gz"),
    include_bytes!("../../corpus/foreign/stopped-report.txt.gz"),
    include_bytes!("../../corpus/foreign/hog-cat.txt.gz"),
];

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Any(&'a [u8]),
    Damaged { which: u8, damages: Vec<Damage> },
    DamagedInside { which: u8, damages: Vec<Damage> },
}

fuzz_target!(|input: Input| {
    let packed = |which: u8| PACKED[usize::from(which) % PACKED.len()];
    let file = match input {
        Input::Any(bytes) => bytes.to_vec(),
        Input::Damaged { which, damages } => spoilt(packed(which), &damages),
        Input::DamagedInside { which, damages } => {
            let plain = evidence::file::unpacked(packed(which)).expect("a valid recording");
            spoilt(&plain, &damages)
        }
    };
    within_budget(file.len(), || {
        let origin = Origin { file_name: "fuzzed", clock: "", imported_unix_ns: 1 };
        let _ = archived(&file, &Request { worst: 10, ..Request::default() }, origin);
    });
});
