//! Hostile files of each format: refused or read within bounds of time and memory.
//!
//! Each test is a separate process (`make test` uses nextest), so the peak of the process is that of the test.

use evidence::archived::{Origin, archived};
use evidence::request::Request;
use std::time::Duration;

const MEMORY_KB_MAX: u64 = 256 << 10;
/// CPU time; unoptimised code takes far longer.
const TIME_MAX: Duration = Duration::from_secs(if cfg!(debug_assertions) { 60 } else { 10 });

fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    let (_, fields) = stat.rsplit_once(") ").unwrap();
    // In the program and in the kernel, in hundredths of a second.
    let ticks: u64 = fields.split(' ').skip(11).take(2).map(|ticks| ticks.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

fn peak_kb() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB"));
    peak.unwrap().trim().parse().unwrap()
}

fn assert_bounded(file: &[u8]) {
    let started = cpu_time();
    let origin = Origin { file_name: "hostile", clock: "", imported_unix_ns: 1 };
    let outcome =
        archived(file, &Request { worst: 10, ..Request::default() }, origin).map(|archived| archived.files.len());
    let (peak_kb, took) = (peak_kb(), cpu_time() - started);
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

/// Packed bytes that unpack to far more than a recording of their size.
const PACKED_BYTES: usize = 1 << 20;
const LINE: &str = "a-1 [000] 1.000001: x: y\n";

fn member(plain: &[u8]) -> Vec<u8> {
    let packed = miniz_oxide::deflate::compress_to_vec(plain, 6);
    [&b"\x1f\x8b\x08\0\0\0\0\0\0\x03"[..], &packed, &[0; 8]].concat()
}

/// Members of gzip with this text, one after another.
fn gzip_of(plain: &[u8]) -> Vec<u8> {
    let member = member(plain);
    member.repeat(PACKED_BYTES / member.len())
}

#[test]
fn gzip_that_unpacks_to_gigabytes_of_lines_stays_small() {
    assert_bounded(&gzip_of(LINE.repeat(40_000).as_bytes()));
}

#[test]
fn gzip_that_unpacks_to_gigabytes_of_lines_with_losses_stays_small() {
    assert_bounded(&gzip_of(format!("{LINE}CPU:0 [LOST 1 EVENTS]\n").repeat(20_000).as_bytes()));
}

#[test]
fn gzip_that_unpacks_to_gigabytes_behind_the_head_of_a_trace_stays_small() {
    for head in [&b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0none\x001.2\0"[..], b"PERFILE2\x10\0\0\0\0\0\0\0"] {
        assert_bounded(&[member(head), gzip_of(&[1; 1 << 20])].concat());
    }
}

#[test]
fn zstd_that_unpacks_to_gigabytes_of_empty_lines_stays_small() {
    // One block with a line, then blocks of a line break that repeats 128 Ki times.
    let line = [&((LINE.len() as u32) << 3).to_le_bytes()[..3], LINE.as_bytes()].concat();
    let block = [0x02, 0x00, 0x10, b'\n'];
    assert_bounded(&[&b"\x28\xb5\x2f\xfd\x00\x48"[..], &line, &block.repeat(PACKED_BYTES / 4), &[1, 0, 0]].concat());
}

/// A MiB of the line.
const XZ_OF_LINES: &[u8] =
    b"\xfd7zXZ\x00\x00\x00\xff\x12\xd9A\x02\x00!\x01\x16\x00\x00\x00t/\xe5\xa3\xef\xff\xff\x00\xf0]\x000\
        \x8bB\x22\x12\xe0\xa9\xab\xf2\xb9<\x14\xd1\xee,zVJ\xef\x81\x18\xdds\x9a\xf2+\xa1\x07\x0f\x06\x1a\xab\
        \x7f\x814C\xfe\x87\xa1aH\xe5\x8a\x0d\xd4;\xefh\xb6\xfe'~6\xa4\xea\x87Lx\xfeP\x92\x9eo\x9dW\xa9\xcb\
        \xaf\xbd\xfe\x98\x11\xfa~\x8dY\xd2\xf1\x85?\xac)+m\x9f\xb7\xdc\x92#,\xf8\xcc\xad\xb3\xf9\xd3\x80\xc1\
        `\x1fG&Z{{A\xdc\xca\xb2i\xaa=\x07\xbe\xe9v\xacY\xe4\xe5[\x05\x08\xf9\xc7\xda\xad\xfc\xfbR+t\xcd\x1e[\
        \x20B\xf9\xddS=\xf8)d\x09;\x80\xcb*l\xdf\xb5;\xf0\xc4\xbd._\xaa\x0f>KfB\x90\x13\x0e\xff\x10\x93\xf8q\
        xY\xf8\x0b\xcd\xff\x95(F\x0f\xa9\xfc|\xde\xfb\x9a0.V\xc0\x8f\x85\xf3\x83\x81\xc0e\xc4%S\xf8\xf5\x916\
        1\x05\xa5\xb0\xeeo\xc1pMG\x0c\xd1\x91\x11\xaa\xad`\x1d\xba\xce\xb1'\x18\x5cY\x86\xe9fRO\xb3\x00Q\x00\
        \x00\x00\x01\x84\x02\x80\x80@\x00\xcd3\xa1\xc0\xa8\x00\x0a\xfc\x02\x00\x00\x00\x00\x00YZ";

#[test]
fn xz_that_unpacks_to_gigabytes_of_lines_stays_small() {
    assert_bounded(&XZ_OF_LINES.repeat(PACKED_BYTES / XZ_OF_LINES.len()));
}

#[test]
fn perfetto_that_unpacks_to_gigabytes_of_events_stays_small() {
    let length =
        |bytes: usize| [bytes as u8 | 0x80, (bytes >> 7) as u8 | 0x80, (bytes >> 14) as u8 | 0x80, (bytes >> 21) as u8];
    let field = |head: &[u8], body: &[u8]| [head, &length(body.len()), body].concat();
    let event = b"\x12\x07\x08\x01\x10\x01\xfa\x22\x00";
    let bundle = field(b"\x0a", &[&b"\x08\x00"[..], &event.repeat(10_000)].concat());
    let packets = field(b"\x0a", &bundle).repeat(10);
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&packets, 6);
    // Field 50 has packets that are packed together.
    let packet = field(b"\x0a", &field(b"\x92\x03", &packed));
    // Each event takes unoptimised code long.
    assert_bounded(&packet.repeat(PACKED_BYTES / 10 / packet.len()));
}

/// A trace.dat of version 7 whose one CPU has these chunks of pages.
fn with_chunks(chunks: &[u8], count: u32) -> Vec<u8> {
    let mut file = b"\x17\x08\x44tracing7\0\0\x08\0\x10\0\0zlib\x001.2\0".to_vec();
    let option =
        |number: u16, data: &[u8]| [&number.to_le_bytes()[..], &(data.len() as u32).to_le_bytes(), data].concat();
    let options_at = file.len() as u64 + 8;
    file.extend(options_at.to_le_bytes());
    let buffer = |section_at: u64, pages_at: u64| {
        let places =
            [&1u32.to_le_bytes()[..], &0u32.to_le_bytes(), &pages_at.to_le_bytes(), &1u64.to_le_bytes()].concat();
        [&section_at.to_le_bytes()[..], b"\0mono\0", &4096u32.to_le_bytes(), &places].concat()
    };
    let options = |section_at| [option(3, &buffer(section_at, section_at + 16)), option(0, &[0; 8])].concat();
    let section_at = options_at + 16 + options(0).len() as u64;
    file.extend([0; 8]);
    file.extend((options(0).len() as u64).to_le_bytes());
    file.extend(options(section_at));
    file.extend([3u16.to_le_bytes(), 1u16.to_le_bytes()].concat());
    file.extend([0; 4]);
    file.extend((chunks.len() as u64).to_le_bytes());
    file.extend(count.to_le_bytes());
    file.extend(chunks);
    file
}

#[test]
fn a_trace_whose_chunks_unpack_to_gigabytes_stays_small() {
    for plain_bytes in [16usize << 20, 64 << 20] {
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&vec![0; plain_bytes], 6);
        let words = [packed.len() as u32, plain_bytes as u32].map(u32::to_le_bytes).concat();
        let chunk = [words, packed].concat();
        let count = (PACKED_BYTES / chunk.len()).max(1);
        assert_bounded(&with_chunks(&chunk.repeat(count), count as u32));
    }
}

#[test]
fn a_trace_whose_pages_all_begin_at_once_stays_small() {
    // Pages without events, of which a thousand are as small as one.
    let page = [&1u64.to_le_bytes()[..], &[0; 4088]].concat();
    let packed = miniz_oxide::deflate::compress_to_vec_zlib(&page.repeat(2560), 6);
    let words = [packed.len() as u32, 2560 * 4096].map(u32::to_le_bytes).concat();
    let chunk = [words, packed].concat();
    let count = PACKED_BYTES / chunk.len();
    assert_bounded(&with_chunks(&chunk.repeat(count), count as u32));
}
