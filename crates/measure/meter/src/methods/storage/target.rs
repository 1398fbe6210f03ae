//! The file or device, opened as the requests need it. Nothing that was there before is written to unless the user permits it.

use super::request::{Place, Requests};
use archive::method::storage::Mode;
use rustix::fs::{Access, StatVfs};
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Bytes that are written at once while a file is made.
const PIECE_BYTES: usize = 1 << 20;

/// Whether a file can be made in a directory and used as the requests need it. Leaves nothing behind.
///
/// # Errors
/// Errors of the kernel, and too little free space.
pub fn check_directory(directory: &Path, requests: &Requests) -> io::Result<()> {
    rustix::fs::access(directory, Access::WRITE_OK | Access::EXEC_OK)?;
    has_room(&rustix::fs::statvfs(directory)?, requests.size_bytes)?;
    let mut nameless = OpenOptions::new();
    nameless.read(true).write(true).mode(0o600);
    match nameless.custom_flags(libc::O_TMPFILE | flags(requests.mode)).open(directory) {
        // Some file systems have no files without a name.
        Err(error) if matches!(error.raw_os_error(), Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT)) => Ok(()),
        opened => opened.map(drop),
    }
}

fn has_room(room: &StatVfs, size_bytes: u64) -> io::Result<()> {
    if room.f_bavail.saturating_mul(room.f_frsize) / 2 < size_bytes {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "it would take more than half of the free space"));
    }
    Ok(())
}

/// Flags of open(2).
fn flags(mode: Mode) -> libc::c_int {
    match mode {
        Mode::Direct => libc::O_DIRECT,
        Mode::Sync => libc::O_SYNC,
        Mode::DataSync => libc::O_DSYNC,
        Mode::Fsync | Mode::Fdatasync | Mode::Buffered => 0,
    }
}

/// Makes the file and fills it, so that reads find data on the device and writes allocate no blocks.
///
/// # Errors
/// Errors of the kernel.
pub fn make(path: &Path, size_bytes: u64) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    has_room(&rustix::fs::fstatvfs(&file)?, size_bytes)?;
    let piece = pattern(PIECE_BYTES);
    let mut left = size_bytes;
    while left > 0 {
        let now = left.min(PIECE_BYTES as u64);
        file.write_all(&piece[..now as usize])?;
        left -= now;
    }
    file.sync_all()?;
    forget_pages(&file, 0, size_bytes);
    Ok(())
}

/// Opens the target for one thread.
///
/// # Errors
/// Errors of the kernel; EBUSY for a device to write to that is mounted or in use.
pub fn open(requests: &Requests, path: &Path) -> io::Result<File> {
    let mut flags = flags(requests.mode);
    let device = matches!(requests.place, Place::Device(_));
    if device && requests.writes {
        // The kernel refuses it if the device, or a part of it, is mounted, swap, or below another device.
        flags |= libc::O_EXCL;
    }
    let file =
        OpenOptions::new().read(true).write(requests.writes).custom_flags(flags | libc::O_NOFOLLOW).open(path)?;
    if file.metadata()?.file_type().is_block_device() != device {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a block device"));
    }
    if requests.random {
        let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Random);
    }
    Ok(file)
}

/// Bytes of the device, or of the file.
///
/// # Errors
/// Errors of the kernel.
pub fn size_bytes(file: &File) -> io::Result<u64> {
    let metadata = file.metadata()?;
    if metadata.file_type().is_block_device() {
        rustix::fs::seek(file, rustix::fs::SeekFrom::End(0)).map_err(Into::into)
    } else {
        Ok(metadata.size())
    }
}

/// Has the kernel drop clean pages of the page cache.
pub fn forget_pages(file: &File, offset: u64, bytes: u64) {
    let _ = rustix::fs::fadvise(file, offset, std::num::NonZeroU64::new(bytes), rustix::fs::Advice::DontNeed);
}

/// Bytes that a device cannot compress.
pub fn pattern(bytes: usize) -> Vec<u8> {
    let mut draw = Draw::new(1);
    (0..bytes).map(|_| draw.next() as u8).collect()
}

/// Random numbers, the same in every run.
#[derive(Debug, Clone)]
pub struct Draw(u64);

impl Draw {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    #[inline]
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 24
    }
}
