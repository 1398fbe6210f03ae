//! Files of about a megabyte that once unpacked to gigabytes: the cost of reading them is printed, and its memory is
//! bounded.
//!
//! Each test is a separate process (`make test` uses nextest), so the peak of the process is that of the test.

#![cfg(feature = "zlib")]

use ftrace::flight_record::FlightRecord;
use ftrace::trace_dat::{Gap, TraceFile};
use std::fs;
use std::time::Instant;

/// Memory of the process, including its program and the file.
const MEMORY_KB_MAX: u64 = 256 << 10;

/// Peak of this process in kB.
fn peak_kb() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    peak.unwrap().trim().parse().unwrap()
}

fn assert_bounded(what: &str, bytes: usize, read: impl FnOnce()) {
    let started = Instant::now();
    read();
    let peak = peak_kb();
    println!("{what} of {} kB: {} MB, {:?}", bytes >> 10, peak >> 10, started.elapsed());
    assert!(peak < MEMORY_KB_MAX, "{what}: {peak} kB");
}

fn option(number: u16, data: &[u8]) -> Vec<u8> {
    [&number.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat()
}

#[test]
fn a_trace_whose_options_end_where_they_begin_stays_small() {
    let mut file = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\x001.2\0".to_vec();
    let first = file.len() as u64 + 8;
    file.extend(first.to_le_bytes());
    let buffer = [&[0; 8][..], b"name\0mono\0", &[0; 8]].concat();
    let mut options: Vec<u8> = option(3, &buffer).repeat(30_000);
    options.extend(option(0, &first.to_le_bytes()));
    file.extend([0; 8]);
    file.extend((options.len() as u64).to_le_bytes());
    file.extend(options);
    assert_bounded("trace", file.len(), || {
        let trace = TraceFile::parse(&file);
        let listed_twice = |gap: &Gap| matches!(gap, Gap::Corrupt { part, .. } if part == "options");
        assert!(trace.gaps.iter().any(listed_twice), "{:?}", trace.gaps);
    });
}

#[test]
fn a_flight_record_that_unpacks_the_same_section_many_times_stays_small() {
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; 16 << 20], 9);
    let section = [&b"SYMS\x01\0\0\0"[..], &(packed.len() as u64).to_le_bytes(), &packed].concat();
    let mut file = b"TDFLIGHT".to_vec();
    file.extend(2u32.to_le_bytes());
    file.extend(40u32.to_le_bytes());
    file.extend([0; 24]);
    file.extend(section.repeat(50));
    assert_bounded("flight record", file.len(), || {
        let record = FlightRecord::parse(&file);
        assert!(record.symbols.len() <= 64 << 20 && record.gaps.len() > 40, "{} gaps", record.gaps.len());
    });
}
