//! A bell by which other threads of the meter wake the thread that speaks with the host.

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{read, write};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// A counter of the kernel that is readable after a ring.
#[derive(Debug, Clone)]
pub struct Bell(Arc<OwnedFd>);

impl Bell {
    /// # Errors
    /// Of `eventfd(2)`.
    pub fn new() -> io::Result<Self> {
        Ok(Self(Arc::new(eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?)))
    }

    pub fn ring(&self) {
        // A counter that is full is readable, too.
        let _ = write(&*self.0, &1_u64.to_ne_bytes());
    }

    /// Takes every ring so far.
    pub fn quiet(&self) {
        let _ = read(&*self.0, &mut [0; size_of::<u64>()]);
    }
}

impl AsFd for Bell {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustix::event::{PollFd, PollFlags, Timespec, poll};

    #[test]
    fn it_is_readable_from_a_ring_until_it_is_quiet() {
        let bell = Bell::new().unwrap();
        let rings = || poll(&mut [PollFd::new(&bell, PollFlags::IN)], Some(&Timespec::default())) == Ok(1);
        assert!(!rings());
        let other = bell.clone();
        std::thread::spawn(move || (0..2).for_each(|_| other.ring())).join().unwrap();
        assert!(rings());
        bell.quiet();
        assert!(!rings());
    }
}
