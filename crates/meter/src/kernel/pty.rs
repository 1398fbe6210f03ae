//! Pairs of pseudo-terminals: the two ends of a serial line without hardware.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::OpenOptionsExt;

/// A new pair: what is written into one end comes out of the other one.
///
/// # Errors
/// ENOENT without /dev/ptmx, ENOSPC when all pairs are taken.
pub fn pair() -> io::Result<(File, File)> {
    let near = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open("/dev/ptmx")?;
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
