//! The trace of a spike on the disk: a small one is read at once, a large one only where it is needed.

use archive::reader::{OpenError, Run};
use explain::{ReadAt, Source};
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// A snapshot is far smaller; a trace that another program recorded may be far larger.
const AT_ONCE_BYTES_MAX: u64 = 8 << 20;

/// A trace that can be read from.
#[derive(Debug)]
pub enum SpikeTrace {
    Memory(Vec<u8>),
    Disk(DiskFile),
}

/// An open file and its size when it was opened.
#[derive(Debug)]
pub struct DiskFile {
    file: File,
    bytes: u64,
}

impl DiskFile {
    /// # Errors
    /// If its size cannot be read.
    pub fn of(file: File) -> io::Result<Self> {
        let bytes = file.metadata()?.len();
        Ok(Self { file, bytes })
    }
}

impl SpikeTrace {
    /// # Errors
    /// [`OpenError::Io`] when there is no such file.
    pub fn open(run: &Run, number: u32) -> Result<Self, OpenError> {
        let (path, mut file) = run.spike_trace_file(number)?;
        let open = || -> io::Result<Self> {
            if file.metadata()?.len() > AT_ONCE_BYTES_MAX {
                return DiskFile::of(file).map(Self::Disk);
            }
            let mut small = Vec::new();
            file.read_to_end(&mut small)?;
            Ok(Self::Memory(small))
        };
        open().map_err(|source| OpenError::Io { path, source })
    }

    pub fn source(&self) -> Source<'_> {
        match self {
            Self::Memory(bytes) => Source::Memory(bytes),
            Self::Disk(file) => Source::Reader(file),
        }
    }
}

impl Default for SpikeTrace {
    fn default() -> Self {
        Self::Memory(Vec::new())
    }
}

impl ReadAt for DiskFile {
    fn size(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        self.file.read_at(buffer, offset)
    }
}
