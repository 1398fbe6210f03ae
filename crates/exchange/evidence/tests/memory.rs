//! Hostile files of each format: refused or read within bounds of time and memory.
//!
//! Each test is a separate process (`make test` uses nextest), so the peak of the process is that of the test.

use evidence::archived::{Origin, archived};
use evidence::request::Request;
use std::time::{Duration, Instant};

const MEMORY_KB_MAX: u64 = 256 << 10;
const TIME_MAX: Duration = Duration::from_secs(10);

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    peak.unwrap().trim().parse().unwrap()
}

fn assert_bounded(file: &[u8]) {
    let started = Instant::now();
    let origin = Origin { file_name: "hostile", clock: "", imported_unix_ns: 1 };
    let outcome =
        archived(file, &Request { worst: 10, ..Request::default() }, origin).map(|archived| archived.files.len());
    let (peak_kb, took) = (peak_kb(), started.elapsed());
    println!("{} kB: {outcome:?} within {} MB, {took:?}", file.len() >> 10, peak_kb >> 10);
    assert!(peak_kb < MEMORY_KB_MAX && took < TIME_MAX, "{peak_kb} kB, {took:?}");
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

#[test]
fn lines_that_are_seconds_apart_or_behind_losses_stay_small() {
    let line = |second: u32| format!("a-1 [000] {second}.000000: x: y\nCPU:0 [LOST 1 EVENTS]\n");
    assert_bounded((0..100_000).map(line).collect::<String>().as_bytes());
}

#[test]
fn attributes_of_perf_that_share_their_numbers_are_quick() {
    let attributes = 16_000u64;
    let (size, begin) = (80, 104);
    let end = begin + attributes * size;
    let mut file =
        [&b"PERFILE2"[..], &words(&[104, size, begin, attributes * size, end, 0, 0, 0, 0, 0, 0, 0])].concat();
    for _ in 0..attributes {
        file.extend([0; 64]);
        file.extend(words(&[0, end]));
    }
    assert_bounded(&file);
}

#[test]
fn a_compressed_stream_of_perf_that_unpacks_to_gigabytes_stays_small() {
    // Blocks of one byte that repeats 128 Ki times.
    let block = [0x02, 0x00, 0x10, 0x08];
    let stream = [&b"\x28\xb5\x2f\xfd\x00\x48"[..], &block.repeat(100_000)].concat();
    let mut file = b"PERFILE2\x10\0\0\0\0\0\0\0".to_vec();
    for part in stream.chunks(60_000) {
        file.extend(81u32.to_le_bytes());
        file.extend([0, 0]);
        file.extend((part.len() as u16 + 8).to_le_bytes());
        file.extend(part);
    }
    assert_bounded(&file);
}

#[test]
fn a_bundle_of_perfetto_full_of_the_smallest_events_stays_small() {
    let event = b"\x12\x07\x08\x01\x10\x01\xfa\x22\x00";
    let bundle = [&b"\x08\x00"[..], &event.repeat(200_000)].concat();
    let length =
        |bytes: usize| [bytes as u8 | 0x80, (bytes >> 7) as u8 | 0x80, (bytes >> 14) as u8 | 0x80, (bytes >> 21) as u8];
    let packet = [&b"\x0a"[..], &length(bundle.len()), &bundle].concat();
    assert_bounded(&[&b"\x0a"[..], &length(packet.len()), &packet].concat());
}
