//! A POSIX message queue without a name: whatever ends the process ends it.

use std::ffi::CString;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::RawFd;

const MESSAGES: libc::c_long = 8;
const BYTES: usize = 8;

/// A queue of short messages.
#[derive(Debug)]
pub struct MessageQueue(libc::mqd_t);

impl MessageQueue {
    /// # Errors
    /// ENOSYS of a kernel without CONFIG_POSIX_MQUEUE, EMFILE beyond RLIMIT_MSGQUEUE.
    pub fn new(number: u32) -> io::Result<Self> {
        let name = CString::new(format!("/tardy-{}-{number}", std::process::id())).expect("a name without zeroes");
        // SAFETY: all-zero bytes are a valid `mq_attr`.
        let mut attributes: libc::mq_attr = unsafe { MaybeUninit::zeroed().assume_init() };
        attributes.mq_maxmsg = MESSAGES as _;
        attributes.mq_msgsize = BYTES as _;
        let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
        // SAFETY: `name` is a live string that ends with a zero, `attributes` is live and complete.
        let queue = unsafe { libc::mq_open(name.as_ptr(), flags, 0o600 as libc::mode_t, &attributes) };
        if queue as RawFd == -1 {
            return Err(io::Error::last_os_error());
        }
        // SAFETY: as above. Without a name nothing is left behind, however the process ends.
        unsafe { libc::mq_unlink(name.as_ptr()) };
        Ok(Self(queue))
    }

    #[inline]
    pub fn send(&self) {
        let message = [0u8; BYTES];
        // SAFETY: the queue is open, `message` is live and as long as said.
        unsafe { libc::mq_send(self.0, message.as_ptr().cast(), BYTES, 0) };
    }

    /// Waits for a message; `false` when there is nothing to wait for any more.
    #[inline]
    pub fn receive(&self) -> bool {
        let mut message = [0u8; BYTES];
        loop {
            // SAFETY: the queue is open, `message` is room for its longest message.
            let answer = unsafe { libc::mq_receive(self.0, message.as_mut_ptr().cast(), BYTES, std::ptr::null_mut()) };
            if answer >= 0 {
                return true;
            }
            if io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                return false;
            }
        }
    }
}

impl Drop for MessageQueue {
    fn drop(&mut self) {
        // SAFETY: ours, and used by nobody after this.
        unsafe { libc::mq_close(self.0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_arrives_and_no_name_is_left() {
        let queue = MessageQueue::new(900).unwrap();
        queue.send();
        assert!(queue.receive());
        drop(MessageQueue::new(900).expect("the name is free again"));
    }
}
