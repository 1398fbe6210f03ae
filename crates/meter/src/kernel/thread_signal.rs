//! SIGUSR1 from one thread of this process to another that waits for it.

use super::{scheduling, signals};
use std::io;

const SIGNAL: i32 = libc::SIGUSR1;

/// Blocks the signal in the calling thread, so that it can be waited for. Answers the thread id to send it to.
///
/// # Errors
/// Those of pthread_sigmask(3).
pub fn block() -> io::Result<i32> {
    signals::block_in_thread(SIGNAL)?;
    Ok(scheduling::thread_id())
}

/// Sends it; a thread that is gone gets none.
#[inline]
pub fn send(tid: i32) {
    // SAFETY: takes numbers only.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, SIGNAL) };
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
        let (output, tid) = channel();
        let waiting = std::thread::spawn(move || {
            output.send(block().unwrap()).unwrap();
            wait()
        });
        send(tid.recv().unwrap());
        assert!(waiting.join().unwrap());
    }
}
