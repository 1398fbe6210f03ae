//! Pure computation: a CPU that is never idle and enters the kernel only when it is interrupted.

use super::workers::Workers;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const STEPS_PER_ROUND: u32 = 100_000;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for number in 0..workers.count() {
        workers.fork("load-cpu", |counter| spin(u64::from(number), counter))?;
    }
    Ok(())
}

fn spin(seed: u64, counter: &AtomicU64) -> ! {
    let mut state = seed | 1 << 32;
    loop {
        for _ in 0..STEPS_PER_ROUND {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
        }
        state = black_box(state);
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
