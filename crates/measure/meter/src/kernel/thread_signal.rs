//! SIGUSR1 from one thread of this process to another that waits for it.

use super::{scheduling, signals};
use std::io;

const SIGNAL: i32 = libc::SIGUSR1;

/// Bytes of the kernel's set of signals.
const SET_BYTES: usize = size_of::<u64>();

/// A thread of this process.
#[derive(Debug, Clone, Copy)]
pub struct Address {
    pid: i32,
    tid: i32,
}

/// Blocks the signal in the calling thread, so that it can be waited for. Answers where to send it.
///
/// # Errors
/// Errors of pthread_sigmask(3).
pub fn block() -> io::Result<Address> {
    signals::block_in_thread(SIGNAL)?;
    Ok(Address { pid: std::process::id() as i32, tid: scheduling::thread_id() })
}

/// Sends it with one system call; a thread that is gone gets none.
#[inline]
pub fn send(to: Address) {
    // SAFETY: takes numbers only.
    unsafe { libc::syscall(libc::SYS_tgkill, to.pid, to.tid, SIGNAL) };
}

/// Sends it with the system calls that the GNU C library's pthread_kill makes: all signals blocked, getpid, tgkill, and the mask
/// as before. A thread that is gone gets none.
#[inline]
pub fn send_as_pthread_kill(to: Address) {
    let (all, mut before) = (u64::MAX, 0u64);
    // SAFETY: both sets are live and have the size that the call is given; tgkill and getpid take numbers only.
    unsafe {
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_BLOCK, &raw const all, &raw mut before, SET_BYTES);
        let pid = libc::syscall(libc::SYS_getpid);
        libc::syscall(libc::SYS_tgkill, pid, to.tid, SIGNAL);
        let none = std::ptr::null_mut::<u64>();
        libc::syscall(libc::SYS_rt_sigprocmask, libc::SIG_SETMASK, &raw const before, none, SET_BYTES);
    }
}

/// Waits for one; `false` when there is nothing to wait for any more.
#[inline]
pub fn wait() -> bool {
    loop {
        match signals::wait_for(SIGNAL) {
            Ok(_) => return true,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(_) => return false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn a_signal_ends_the_wait_of_one_thread() {
        for send in [send, send_as_pthread_kill] {
            let (output, address) = channel();
            let waiting = std::thread::spawn(move || {
                output.send(block().unwrap()).unwrap();
                wait()
            });
            send(address.recv().unwrap());
            assert!(waiting.join().unwrap());
        }
    }
}
