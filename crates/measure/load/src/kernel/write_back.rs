//! Starts writing a part of a file to its disk.

use std::fs::File;
use std::os::fd::AsRawFd;

/// Asks the kernel to start writing; a file system without a disk has nothing to do and may reject it.
pub fn start_write_back(file: &File, offset: u64, length: u64) {
    // SAFETY: takes numbers only, and the descriptor is open for the length of the call.
    unsafe { libc::sync_file_range(file.as_raw_fd(), offset as i64, length as i64, libc::SYNC_FILE_RANGE_WRITE) };
}
