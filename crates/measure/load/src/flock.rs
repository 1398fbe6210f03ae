//! File locks: processes compete for one lock, sleep until they get it, and release it.
//!
//! The file is in memory and has no name.

use super::workers::Workers;
use rustix::fs::{FlockOperation, MemfdFlags, flock, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

const PROCESSES: usize = 4;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for _ in 0..workers.count() {
        let file = memfd_create(c"load-flock", MemfdFlags::CLOEXEC)?;
        for _ in 0..PROCESSES {
            workers.fork("load-flock", |counter| work(&file, counter))?;
        }
    }
    Ok(())
}

fn work(file: &OwnedFd, counter: &AtomicU64) -> io::Error {
    let own = match reopened(file) {
        Ok(own) => own,
        Err(error) => return error,
    };
    loop {
        match take_and_release(&own) {
            Ok(()) => counter.fetch_add(1, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

/// A lock belongs to an open file description: processes that share one would all hold it at once.
fn reopened(file: &OwnedFd) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn take_and_release(file: &File) -> io::Result<()> {
    while let Err(error) = flock(file, FlockOperation::LockExclusive) {
        if error != rustix::io::Errno::INTR {
            return Err(error.into());
        }
    }
    flock(file, FlockOperation::Unlock)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_do_not_have_the_lock_at_once() {
        let file = memfd_create(c"load-flock", MemfdFlags::CLOEXEC).expect("memory");
        let (one, two) = (reopened(&file).expect("a file"), reopened(&file).expect("a file"));
        flock(&one, FlockOperation::LockExclusive).expect("a free lock");
        assert!(flock(&two, FlockOperation::NonBlockingLockExclusive).is_err());
        flock(&one, FlockOperation::Unlock).expect("our lock");
        take_and_release(&two).expect("a free lock");
    }
}
