//! Semaphores: two processes take turns, each waking the other and going to sleep itself.

use super::kernel::semaphore::SemaphorePair;
use super::workers::Workers;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for _ in 0..workers.count() {
        let pair = SemaphorePair::new()?;
        workers.fork("semaphore-one", |counter| work(pair, Some(counter)))?;
        workers.fork("semaphore-two", |_| work(pair.other_side(), None))?;
    }
    Ok(())
}

fn work(pair: SemaphorePair, counter: Option<&AtomicU64>) -> io::Error {
    loop {
        if let Err(error) = pair.take_turn() {
            return error;
        }
        if let Some(counter) = counter {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }
}
