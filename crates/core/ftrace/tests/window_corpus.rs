//! A window of each recorded trace contains the same as the whole trace there.

use fixtures::repository::repository_path;
use ftrace::trace_dat::{ReadAt, Source, TraceFile};
use std::io;

/// Bytes that are read like a file, piece by piece.
struct InMemory(Vec<u8>);

impl ReadAt for InMemory {
    fn size(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let rest = &self.0[usize::try_from(offset).map_or(self.0.len(), |offset| offset.min(self.0.len()))..];
        let length = rest.len().min(buffer.len());
        buffer[..length].copy_from_slice(&rest[..length]);
        Ok(length)
    }
}

#[test]
fn a_window_of_a_corpus_trace_holds_what_the_whole_has_there() {
    let corpus = repository_path("corpus/explain");
    let mut windows = 0;
    for case in std::fs::read_dir(corpus).unwrap().flatten() {
        let Ok(bytes) = std::fs::read(case.path().join("trace.dat")) else { continue };
        let whole = TraceFile::parse(&bytes);
        let stamps: Vec<u64> = whole.merged().map(|item| item.ts_ns()).collect();
        for part in 1..8 {
            let from_ns = stamps[stamps.len() * (part - 1) / 8];
            let to_ns = stamps[stamps.len() * part / 8] + part as u64 % 2;
            let file = InMemory(bytes.clone());
            let window = TraceFile::parse_window(Source::Reader(&file), from_ns, to_ns);
            assert_eq!(window.gaps, whole.gaps);
            let same = whole.window(from_ns, to_ns).eq(window.window(from_ns, to_ns));
            assert!(same, "{}: {from_ns} to {to_ns}", case.path().display());
            windows += 1;
        }
    }
    assert!(windows > 1000, "the corpus is gone");
}
