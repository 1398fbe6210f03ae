//! Ways in which one thread wakes another: a pipe, a socket, an eventfd, a futex.

use crate::kernel::{futex_wait, futex_wake};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

/// A channel that delivers each message once.
pub enum Channel {
    Bytes { reading: File, writing: File },
    Futex(AtomicU32),
}

/// As many bytes as an eventfd takes.
const MESSAGE: [u8; 8] = 1_u64.to_ne_bytes();

impl Channel {
    pub fn new(kind: &str) -> io::Result<Self> {
        match kind {
            "futex" => Ok(Self::Futex(AtomicU32::new(0))),
            "eventfd" => {
                // SAFETY: makes a descriptor, touches no memory.
                let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_SEMAPHORE) };
                if descriptor < 0 {
                    return Err(io::Error::last_os_error());
                }
                // SAFETY: the descriptor is new and nothing else owns it.
                let writing = File::from(unsafe { OwnedFd::from_raw_fd(descriptor) });
                Ok(Self::Bytes { reading: writing.try_clone()?, writing })
            }
            "socket" => {
                let (reading, writing) = UnixStream::pair()?;
                Ok(Self::Bytes {
                    reading: File::from(OwnedFd::from(reading)),
                    writing: File::from(OwnedFd::from(writing)),
                })
            }
            "pipe" => {
                let (reading, writing) = io::pipe()?;
                Ok(Self::Bytes {
                    reading: File::from(OwnedFd::from(reading)),
                    writing: File::from(OwnedFd::from(writing)),
                })
            }
            _ => Err(io::Error::other(format!("`{kind}` is not a channel between threads"))),
        }
    }

    pub fn send(&self) -> io::Result<()> {
        match self {
            Self::Bytes { writing, .. } => (&*writing).write_all(&MESSAGE),
            Self::Futex(word) => {
                word.fetch_add(1, SeqCst);
                futex_wake(word)
            }
        }
    }

    pub fn receive(&self) -> io::Result<()> {
        match self {
            Self::Bytes { reading, .. } => (&*reading).read_exact(&mut [0; MESSAGE.len()]),
            Self::Futex(word) => {
                loop {
                    let sent = word.load(SeqCst);
                    if sent > 0 {
                        word.fetch_sub(1, SeqCst);
                        return Ok(());
                    }
                    // Sent meanwhile, or interrupted: it is looked at again.
                    let _ = futex_wait(word, 0);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_is_received_once() {
        for kind in ["pipe", "futex", "socket", "eventfd"] {
            let channel = Channel::new(kind).expect(kind);
            std::thread::scope(|scope| {
                let received = scope.spawn(|| (0..3).try_for_each(|_| channel.receive()));
                (0..3).try_for_each(|_| channel.send()).expect(kind);
                received.join().expect("no panic").expect(kind);
            });
        }
        assert!(Channel::new("post").is_err());
    }
}
