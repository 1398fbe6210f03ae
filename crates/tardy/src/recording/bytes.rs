//! The bytes of a recording: a trace.dat stays on the disk, anything else is read into the memory.

use super::unreadable::Unreadable;
use account::DiskFile;
use evidence::file::{Packing, is_trace_dat, unpacked_bytes_max};
use evidence::problem::Refusal;
use ftrace::trace_dat::Source;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

/// Larger files do not fit into memory everywhere.
pub const FILE_BYTES_MAX: u64 = 2 << 30;
/// In which a file shows its kind.
const HEAD_BYTES: u64 = 16;
/// Of a packed file, as it is unpacked.
const PACKED_BUFFER_BYTES: usize = 256 << 10;

/// Where the bytes are.
#[derive(Debug)]
pub enum RecordedBytes {
    Memory(Vec<u8>),
    Disk(DiskFile),
}

/// The description of a CTF trace, which is a directory.
pub fn description(directory: &Path) -> Option<PathBuf> {
    ["metadata", "kernel/metadata"].iter().map(|name| directory.join(name)).find(|path| path.is_file())
}

impl RecordedBytes {
    /// Opens a file. One that holds a packed trace.dat is unpacked into a file in `scratch` that has no name.
    ///
    /// # Errors
    /// [`Unreadable`].
    pub fn of(path: &Path, scratch: &Path) -> Result<Self, Unreadable> {
        let description = description(path);
        let path = description.as_deref().unwrap_or(path);
        let on_disk = |file| DiskFile::of(file).map(Self::Disk);
        let disk = on_disk(File::open(path)?)?;
        if is_trace_dat(disk.source()).is_some() {
            return Ok(disk);
        }
        let (head, _) = disk.source().range(0, HEAD_BYTES);
        let Some(packing) = Packing::of(&head) else { return read_whole(File::open(path)?).map(Self::Memory) };
        let unpacker = || -> io::Result<_> {
            Ok(packing.reader(BufReader::with_capacity(PACKED_BUFFER_BYTES, File::open(path)?)))
        };
        let mut head = Vec::new();
        let begun = unpacker()?.take(HEAD_BYTES).read_to_end(&mut head);
        if begun.is_err() || is_trace_dat(Source::Memory(&head)).is_none() {
            return read_whole(File::open(path)?).map(Self::Memory);
        }
        let bytes_max = unpacked_bytes_max(disk.source().size());
        let mut unpacked = unnamed_in(scratch).map_err(Unreadable::NoRoom)?;
        let copied = io::copy(&mut unpacker()?.take(bytes_max + 1), &mut unpacked);
        match copied.and_then(|bytes| unpacked.flush().map(|()| bytes)) {
            Ok(bytes) if bytes > bytes_max => Err(Refusal::TooLarge { bytes_max }.into()),
            Ok(_) => Ok(on_disk(unpacked)?),
            Err(error) if error.kind() == io::ErrorKind::StorageFull => Err(Unreadable::DiskFull(error)),
            Err(_) => Err(packing.broken().into()),
        }
    }

    pub fn source(&self) -> Source<'_> {
        match self {
            Self::Memory(bytes) => Source::Memory(bytes),
            Self::Disk(file) => Source::Reader(file),
        }
    }
}

/// All bytes of a file that must be in the memory.
///
/// # Errors
/// [`Unreadable::File`] and [`Unreadable::TooLarge`].
pub fn read_whole(file: File) -> Result<Vec<u8>, Unreadable> {
    let mut bytes = Vec::new();
    file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(Unreadable::TooLarge { bytes_max: FILE_BYTES_MAX }),
        false => Ok(bytes),
    }
}

/// A file that vanishes when it is closed, in this directory or, as long as it does not exist, above it. The directory of
/// temporary files is often in the memory.
fn unnamed_in(directory: &Path) -> io::Result<File> {
    let there = directory.ancestors().find(|above| above.is_dir()).unwrap_or(Path::new("."));
    let path = there.join(format!(".{}.unpacked", std::process::id()));
    let file = File::options().read(true).write(true).create_new(true).open(&path)?;
    fs::remove_file(&path)?;
    Ok(file)
}
