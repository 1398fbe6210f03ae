//! Two POSIX semaphores in memory shared with forked children, so that they disappear with the processes.

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::io;

/// One side of a pair: it waits for its own semaphore and posts the other's. Never unmapped.
#[derive(Debug, Clone, Copy)]
pub struct SemaphorePair {
    own: *mut libc::sem_t,
    other: *mut libc::sem_t,
}

impl SemaphorePair {
    /// The side that goes first.
    ///
    /// # Errors
    /// Errors of mmap(2) and sem_init(3).
    pub fn new() -> io::Result<Self> {
        let protection = ProtFlags::READ | ProtFlags::WRITE;
        let bytes = 2 * size_of::<libc::sem_t>();
        // SAFETY: a new mapping at an address of the kernel's choice, never taken away.
        let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED)? };
        let own = memory.cast::<libc::sem_t>();
        // SAFETY: the mapping holds two.
        let other = unsafe { own.add(1) };
        for (semaphore, value) in [(own, 1), (other, 0)] {
            // SAFETY: separate aligned memory for each semaphore, which outlives all its users.
            if unsafe { libc::sem_init(semaphore, 1, value) } != 0 {
                return Err(io::Error::last_os_error());
            }
        }
        Ok(Self { own, other })
    }

    /// The side that waits first.
    pub fn other_side(self) -> Self {
        Self { own: self.other, other: self.own }
    }

    /// Waits for this side's turn and passes it on.
    ///
    /// # Errors
    /// Errors of sem_wait(3) and sem_post(3).
    pub fn take_turn(self) -> io::Result<()> {
        // SAFETY: both were initialised by `new` and are never destroyed.
        while unsafe { libc::sem_wait(self.own) } != 0 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        // SAFETY: as above.
        match unsafe { libc::sem_post(self.other) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_alternate() {
        let one = SemaphorePair::new().expect("semaphores");
        for _ in 0..3 {
            one.take_turn().expect("the first side's turn");
            one.other_side().take_turn().expect("the other side's turn");
        }
    }
}
