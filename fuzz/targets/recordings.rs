//! A valid recording of another tool, damaged, or any bytes, with and without the compression around them: refused, or an archive with the
//! trace of each spike.
#![no_main]

use evidence::archived::{Origin, archived};
use evidence::request::Request;
use libfuzzer_sys::{arbitrary, fuzz_target};
use tardy_fuzz::{Damage, spoilt, within_budget};

/// A trace.dat of version 7 with zstd inside, one of version 6 without it, texts, files of perf, and messages of Perfetto.
const PACKED: [&[u8]; 10] = [
    include_bytes!("../../corpus/foreign/stopped-perf.data.gz"),
    include_bytes!("../../corpus/foreign/overrun-perf-packed.data.gz"),
    include_bytes!("../../corpus/foreign/overrun-perf-pipe.data.gz"),
    include_bytes!("../../corpus/foreign/stopped-typed.pftrace.gz"),
    include_bytes!("../../corpus/foreign/stopped-compact.pftrace.gz"),
    include_bytes!("../../corpus/foreign/hog-local.dat.gz"),
    include_bytes!("../../corpus/foreign/hog-version6.dat.gz"),
    include_bytes!("../../corpus/foreign/overrun-local.dat.gz"),
    include_bytes!("../../corpus/foreign/stopped-report.txt.gz"),
    include_bytes!("../../corpus/foreign/hog-cat.txt.gz"),
];

#[derive(Debug, arbitrary::Arbitrary)]
enum Input<'a> {
    Any(&'a [u8]),
    /// Behind the beginning of a perf.data or of a Perfetto trace.
    Begun { is_perf: bool, is_pipe: bool, rest: &'a [u8] },
    Damaged { which: u8, damages: Vec<Damage> },
    DamagedInside { which: u8, damages: Vec<Damage> },
}

fuzz_target!(|input: Input| {
    let packed = |which: u8| PACKED[usize::from(which) % PACKED.len()];
    let file = match input {
        Input::Any(bytes) => bytes.to_vec(),
        Input::Begun { is_perf: true, is_pipe, rest } => {
            let head = if is_pipe { &b"PERFILE2\x10\0\0\0\0\0\0\0"[..] } else { b"PERFILE2\x68\0\0\0\0\0\0\0" };
            [head, rest].concat()
        }
        Input::Begun { is_perf: false, rest, .. } => [&b"\x0a\x02\x08\0"[..], rest].concat(),
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
