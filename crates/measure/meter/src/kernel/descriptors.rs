//! Redirects open files, waits for them, and raises their limit.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::BorrowedFd;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Makes an open file refer to `target`, for every thread that holds it; its descriptor stays the same.
///
/// # Errors
/// Errors of dup3(2).
pub fn redirect(file: &File, target: &File) -> io::Result<()> {
    // SAFETY: both descriptors are open, held by `file` and `target`; the number of `file` stays its own, only what it
    // leads to changes.
    let answer = unsafe { libc::dup3(target.as_raw_fd(), file.as_raw_fd(), libc::O_CLOEXEC) };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// Whether there is something to read, or will be within this time.
#[inline]
pub fn is_readable_within(file: BorrowedFd, at_most: Duration) -> bool {
    let limit = rustix::time::Timespec { tv_sec: at_most.as_secs() as _, tv_nsec: at_most.subsec_nanos() as _ };
    let mut waiting = [PollFd::from_borrowed_fd(file, PollFlags::IN)];
    poll(&mut waiting, Some(&limit)).is_ok_and(|ready| ready > 0) && waiting[0].revents().contains(PollFlags::IN)
}

/// Lets this process open at least `wanted` files, as far as its hard limit allows. The usual soft limit of 1024 is
/// less than the trace buffers of a few hundred CPUs need.
pub fn allow_files(wanted: u64) {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let raised = maximum.map_or(wanted, |maximum| wanted.min(maximum));
    if current.is_some_and(|current| current < raised) {
        // If a later open fails, its error shows the limit.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(raised), maximum });
    }
}
