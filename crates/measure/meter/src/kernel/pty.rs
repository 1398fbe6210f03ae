//! Pairs of pseudo-terminals: the two ends of a serial line without hardware.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// The near end of a new pair on the machine whose files are below `root`.
///
/// # Errors
/// ENOENT without /dev/ptmx or a mounted devpts, ENOSPC when all pairs are taken.
pub fn open_below(root: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(root.join("dev/ptmx"))
}

/// A new pair: what is written into one end comes out of the other one.
///
/// # Errors
/// Errors of [`open_below`].
pub fn pair() -> io::Result<(File, File)> {
    let near = open_below(Path::new("/"))?;
    let unlocked: libc::c_int = 0;
    // SAFETY: the request reads one `int`, which is live.
    if unsafe { libc::ioctl(near.as_raw_fd(), libc::TIOCSPTLCK as _, &raw const unlocked) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let flags = libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC;
    // SAFETY: the request takes flags and answers a descriptor.
    let far = unsafe { libc::ioctl(near.as_raw_fd(), libc::TIOCGPTPEER as _, flags) };
    if far < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel just made this descriptor, and nothing else owns it.
    Ok((near, unsafe { File::from_raw_fd(far) }))
}
