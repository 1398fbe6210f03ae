//! Forking: copying the page tables of a process with some memory, and taking the copy down again.

use super::crew::Crew;
use super::draws::Draws;
use rustix::process::{Pid, WaitOptions, waitpid};
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory the copied process has.
const MEMORY_BYTES: usize = 16 << 20;
const PAGE_BYTES: usize = 4096;
/// Pages a child writes to, at most: each is copied.
const TOUCHED_MAX: usize = 256;

pub fn start(crew: &mut Crew) -> io::Result<()> {
    for number in 0..crew.workers.max(1) {
        crew.fork("load-fork", |counter| work(Draws::of_worker(number), counter))?;
    }
    Ok(())
}

fn work(mut draws: Draws, counter: &AtomicU64) -> io::Error {
    let mut memory = vec![1u8; MEMORY_BYTES];
    loop {
        let touched = draws.between(0, TOUCHED_MAX);
        if let Err(error) = fork_and_wait(&mut memory, touched) {
            return error;
        }
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn fork_and_wait(memory: &mut [u8], touched: usize) -> io::Result<()> {
    // SAFETY: a worker has a single thread; the child writes to memory of its own and ends, it calls nothing that takes
    // a lock.
    match unsafe { libc::fork() } {
        0 => {
            memory.iter_mut().step_by(PAGE_BYTES).take(touched).for_each(|byte| *byte = 2);
            black_box(&*memory);
            // SAFETY: ends the process without running the exit handlers of the one it was forked from.
            unsafe { libc::_exit(0) }
        }
        child if child > 0 => {
            while let Err(error) = waitpid(Pid::from_raw(child), WaitOptions::empty()) {
                if error != rustix::io::Errno::INTR {
                    return Err(error.into());
                }
            }
            Ok(())
        }
        _ => Err(io::Error::last_os_error()),
    }
}
