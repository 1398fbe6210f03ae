//! The file that holds every sample of a thread.

use crate::directory::{ArchiveDirectory, Refusal, read_inside};
use crate::layout::FileKind;
use crate::layout::{SAMPLES_BYTES_MAX, file_path};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Bytes of one sample in the file.
pub const RECORD_BYTES: usize = 16;

/// One wake-up as stored in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SampleRecord {
    /// CLOCK_MONOTONIC, in ns.
    pub due_ns: i64,
    pub latency_ns: i64,
}

/// Largest file to read at once: three days at 1 kHz.
const AT_ONCE_BYTES_MAX: u64 = 4 << 30;

/// The bytes of a thread's file.
///
/// # Errors
/// If the run kept no samples or the file cannot be read.
pub fn bytes(archive: &Path, thread: u32) -> io::Result<Vec<u8>> {
    read_inside(archive, file_path(FileKind::Samples { thread }), AT_ONCE_BYTES_MAX)
}

/// Opens a thread's file, to be read piece by piece.
///
/// # Errors
/// As [`bytes`].
pub fn open(archive: &Path, thread: u32) -> io::Result<File> {
    let file = ArchiveDirectory::open(archive)?.file(file_path(FileKind::Samples { thread }))?;
    let bytes = file.metadata()?.len();
    if bytes > SAMPLES_BYTES_MAX {
        return Err(Refusal::TooLarge { bytes, bytes_max: SAMPLES_BYTES_MAX }.into());
    }
    Ok(file)
}

/// The samples in the bytes of a file; a truncated last one is left out.
pub fn records(bytes: &[u8]) -> impl Iterator<Item = SampleRecord> + '_ {
    let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("eight bytes"));
    bytes
        .chunks_exact(RECORD_BYTES)
        .map(move |record| SampleRecord { due_ns: number(&record[..8]), latency_ns: number(&record[8..]) })
}

/// Samples in a piece: 16 MiB of the file.
pub const PIECE_SAMPLES: usize = 1 << 20;

/// The samples of an open file in pieces, because a file may be larger than any memory. After an error there is none.
pub fn pieces(mut file: impl Read) -> impl Iterator<Item = io::Result<Vec<SampleRecord>>> {
    let mut failed = false;
    std::iter::from_fn(move || {
        let mut bytes = Vec::new();
        let read =
            (!failed).then(|| (&mut file).take((PIECE_SAMPLES * RECORD_BYTES) as u64).read_to_end(&mut bytes))?;
        failed = read.is_err();
        let piece = read.map(|_| records(&bytes).collect::<Vec<_>>());
        piece.as_ref().map_or(true, |piece| !piece.is_empty()).then_some(piece)
    })
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

    #[test]
    fn pieces_are_the_whole_file_and_end_with_an_error() {
        let count = PIECE_SAMPLES as i64 + 3;
        let bytes: Vec<u8> = (0..count).flat_map(|at| [at, 7]).flat_map(i64::to_le_bytes).collect();
        let read: Vec<Vec<SampleRecord>> = pieces(&bytes[..]).map(Result::unwrap).collect();
        assert_eq!(read.iter().map(Vec::len).collect::<Vec<_>>(), [PIECE_SAMPLES, 3]);
        assert!(read.concat().into_iter().eq(records(&bytes)));

        struct Broken;
        impl Read for Broken {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                Err(io::Error::other("the disk is broken"))
            }
        }
        let read: Vec<bool> = pieces(Broken).map(|piece| piece.is_err()).collect();
        assert_eq!(read, [true]);
    }
}
