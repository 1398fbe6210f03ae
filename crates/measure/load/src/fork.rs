//! Forking: copying the page tables of a process with some memory, and freeing the copy again.

use super::draws::Draws;
use super::kernel::process::fork_and_wait;
use super::workers::Workers;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of the copied process.
const MEMORY_BYTES: usize = 16 << 20;
const PAGE_BYTES: usize = 4096;
/// Most pages that a child writes to, each of which is copied.
const TOUCHED_MAX: usize = 256;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for number in 0..workers.count() {
        workers.fork("load-fork", |counter| work(Draws::of_worker(number), counter))?;
    }
    Ok(())
}

fn work(mut draws: Draws, counter: &AtomicU64) -> io::Error {
    let mut memory = vec![1u8; MEMORY_BYTES];
    loop {
        let touched = draws.between(0, TOUCHED_MAX);
        let write = || {
            memory.iter_mut().step_by(PAGE_BYTES).take(touched).for_each(|byte| *byte = 2);
            black_box(&*memory);
        };
        if let Err(error) = fork_and_wait(write) {
            return error;
        }
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
