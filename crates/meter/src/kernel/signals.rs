//! Signals as bytes of a file descriptor: no handler runs, so none can interrupt the measurement.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// Blocks SIGINT, SIGTERM, SIGHUP and SIGQUIT in the calling thread and all it starts later, and SIGPIPE with them; the
/// descriptor becomes readable when one of the first four arrives.
///
/// # Errors
/// Those of signalfd(2).
pub fn block_and_watch() -> io::Result<OwnedFd> {
    let mut blocked = empty_set();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT] {
        add(&mut blocked, signal);
    }
    let watched = blocked;
    add(&mut blocked, libc::SIGPIPE);
    // SAFETY: `blocked` is an initialised set; a null third argument asks for no old mask.
    let answer = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, std::ptr::null_mut()) };
    if answer != 0 {
        return Err(io::Error::from_raw_os_error(answer));
    }
    // SAFETY: `watched` is an initialised set; -1 asks for a new descriptor.
    let descriptor = unsafe { libc::signalfd(-1, &watched, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) };
    if descriptor < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just made this descriptor for us, nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

fn empty_set() -> libc::sigset_t {
    let mut set = MaybeUninit::uninit();
    // SAFETY: sigemptyset initialises the whole set it is given.
    unsafe {
        libc::sigemptyset(set.as_mut_ptr());
        set.assume_init()
    }
}

fn add(set: &mut libc::sigset_t, signal: i32) {
    // SAFETY: `set` is an initialised set.
    unsafe { libc::sigaddset(set, signal) };
}
