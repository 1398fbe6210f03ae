//! Semaphores: two processes take turns, each waking the other and going to sleep itself.
//!
//! The semaphores lie in memory that the two share and nobody else knows, so that they go with them.

use super::crew::Crew;
use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Two semaphores, for the life of the process.
#[derive(Clone, Copy)]
struct Pair {
    ours: *mut libc::sem_t,
    theirs: *mut libc::sem_t,
}

pub fn start(crew: &mut Crew) -> io::Result<()> {
    for _ in 0..crew.workers.max(1) {
        let Pair { ours, theirs } = pair()?;
        crew.fork("semaphore-one", |counter| work(Pair { ours, theirs }, Some(counter)))?;
        crew.fork("semaphore-two", |_| work(Pair { ours: theirs, theirs: ours }, None))?;
    }
    Ok(())
}

/// Shared with whatever this process forks: the first semaphore stands at 1, so that its owner begins.
fn pair() -> io::Result<Pair> {
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    let bytes = 2 * size_of::<libc::sem_t>();
    // SAFETY: a new mapping at an address of the kernel's choice, never taken away.
    let memory = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::SHARED)? };
    let ours = memory.cast::<libc::sem_t>();
    // SAFETY: the mapping holds two.
    let theirs = unsafe { ours.add(1) };
    for (semaphore, value) in [(ours, 1), (theirs, 0)] {
        // SAFETY: aligned memory of its own for each semaphore, that outlives all its users.
        if unsafe { libc::sem_init(semaphore, 1, value) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(Pair { ours, theirs })
}

fn work(pair: Pair, counter: Option<&AtomicU64>) -> io::Error {
    loop {
        if let Err(error) = turn(pair) {
            return error;
        }
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Waits for our turn and passes it on.
fn turn(pair: Pair) -> io::Result<()> {
    // SAFETY: both were initialised by `pair` and are never destroyed.
    while unsafe { libc::sem_wait(pair.ours) } != 0 {
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
    // SAFETY: as above.
    match unsafe { libc::sem_post(pair.theirs) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_alternate() {
        let one = pair().expect("semaphores");
        let two = Pair { ours: one.theirs, theirs: one.ours };
        for _ in 0..3 {
            turn(one).expect("our turn");
            turn(two).expect("their turn");
        }
    }
}
