//! Signals as bytes of a file descriptor: no handler runs, so none can interrupt the measurement.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};

/// Blocks SIGINT, SIGTERM, SIGHUP, SIGQUIT and SIGPIPE in the calling thread and all threads it starts later; the
/// descriptor becomes readable when one of the first four arrives.
///
/// # Errors
/// Errors of signalfd(2).
pub fn block_and_receive() -> io::Result<OwnedFd> {
    block_and_receive_also(&[], &[])
}

/// Like [`block_and_receive`], with further signals to receive, and others that are only blocked.
///
/// # Errors
/// Errors of signalfd(2).
pub fn block_and_receive_also(also: &[i32], blocked_only: &[i32]) -> io::Result<OwnedFd> {
    let mut blocked = empty_set();
    for signal in [libc::SIGINT, libc::SIGTERM, libc::SIGHUP, libc::SIGQUIT].iter().chain(also) {
        add(&mut blocked, *signal);
    }
    let watched = blocked;
    for signal in [libc::SIGPIPE].iter().chain(blocked_only) {
        add(&mut blocked, *signal);
    }
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

/// Blocks a signal in the calling thread, and in those it starts later.
///
/// # Errors
/// Errors of pthread_sigmask(3).
pub fn block_in_thread(signal: i32) -> io::Result<()> {
    let mut blocked = empty_set();
    add(&mut blocked, signal);
    // SAFETY: `blocked` is an initialised set; a null third argument asks for no old mask.
    let answer = unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, &blocked, std::ptr::null_mut()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(answer)) }
}

/// Unblocks every signal in the calling thread, for a program that it is about to become.
///
/// # Errors
/// Errors of pthread_sigmask(3).
pub fn unblock_all() -> io::Result<()> {
    let none = empty_set();
    // SAFETY: `none` is an initialised set; a null third argument asks for no old mask.
    let answer = unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &none, std::ptr::null_mut()) };
    if answer == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(answer)) }
}

/// The next signal that arrived at a descriptor of this module; `None` when none is waiting.
pub fn taken(watched: &OwnedFd) -> Option<i32> {
    let mut record = [0; size_of::<libc::signalfd_siginfo>()];
    let length = rustix::io::read(watched, &mut record).ok()?;
    let number = record.get(..4).filter(|_| length == record.len())?;
    Some(u32::from_ne_bytes(number.try_into().ok()?) as i32)
}

/// Waits for one blocked signal of the calling thread. Returns how many further times its timer had expired by then.
///
/// # Errors
/// EINTR if another signal came.
pub fn wait_for(signal: i32) -> io::Result<u32> {
    let mut set = empty_set();
    add(&mut set, signal);
    let mut info = MaybeUninit::<libc::siginfo_t>::zeroed();
    // SAFETY: `set` is initialised and `info` is room for one siginfo_t, which zeroes already make a valid value.
    let (answer, info) = unsafe { (libc::sigwaitinfo(&set, info.as_mut_ptr()), info.assume_init()) };
    if answer < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the signal of a timer carries its overrun.
    Ok(unsafe { info.si_overrun() }.max(0) as u32)
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
