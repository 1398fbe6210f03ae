//! Where open files lead.

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Lets an open file lead where `target` does, whichever thread holds it; its descriptor stays the same.
///
/// # Errors
/// Those of dup3(2).
pub fn redirect(file: &File, target: &File) -> io::Result<()> {
    // SAFETY: both descriptors are open, held by `file` and `target`; the number of `file` stays its own, only what it
    // leads to changes.
    let answer = unsafe { libc::dup3(target.as_raw_fd(), file.as_raw_fd(), libc::O_CLOEXEC) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
