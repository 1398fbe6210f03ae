//! The file that holds every sample of a thread.

use crate::message::FileKind;
use crate::writer::file_path;
use std::io;
use std::path::Path;

/// Bytes of one sample in the file.
pub const RECORD_BYTES: usize = 16;

/// One wake-up as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRecord {
    /// CLOCK_MONOTONIC, in ns.
    pub due_ns: i64,
    pub latency_ns: i64,
}

/// The bytes of a thread's file.
///
/// # Errors
/// When the run kept no samples or the file cannot be read.
pub fn bytes(archive: &Path, thread: u32) -> io::Result<Vec<u8>> {
    std::fs::read(archive.join(file_path(FileKind::Samples { thread })))
}

/// The samples in the bytes of a file; a cut last one is left out.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = SampleRecord> + '_ {
    let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    bytes
        .chunks_exact(RECORD_BYTES)
        .map(move |record| SampleRecord { due_ns: number(&record[..8]), latency_ns: number(&record[8..]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_file_yields_whole_samples() {
        let mut bytes = [1_i64, 2, 3, -4].map(i64::to_le_bytes).concat();
        bytes.extend([0; 15]);
        let expected = [SampleRecord { due_ns: 1, latency_ns: 2 }, SampleRecord { due_ns: 3, latency_ns: -4 }];
        assert_eq!(records(&bytes).collect::<Vec<_>>(), expected);
    }
}
