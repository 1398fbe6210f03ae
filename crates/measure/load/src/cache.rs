//! Data cache misses: pointers are followed through more memory than caches hold, in an order that no prefetcher
//! predicts. Other tasks find the shared caches full of other data, and the memory busy.

use super::draws::Draws;
use super::workers::Workers;
use std::hint::black_box;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const MEMORY_BYTES: usize = 32 << 20;
const LINE_BYTES: usize = 64;
const STEPS_PER_COUNT: usize = 4096;

/// A cache line; its first word is the index of the next.
#[derive(Clone)]
#[repr(align(64))]
struct Line {
    next: u32,
}

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for number in 0..workers.count() {
        workers.fork("load-cache", |counter| work(Draws::of_worker(number), counter))?;
    }
    Ok(())
}

fn work(draws: Draws, counter: &AtomicU64) -> ! {
    let lines = circle(MEMORY_BYTES / LINE_BYTES, draws);
    let mut at = 0;
    loop {
        at = black_box(follow(&lines, at, STEPS_PER_COUNT));
        counter.fetch_add(STEPS_PER_COUNT as u64, Ordering::Relaxed);
    }
}

fn follow(lines: &[Line], mut at: u32, steps: usize) -> u32 {
    for _ in 0..steps {
        at = lines[at as usize].next;
    }
    at
}

/// `number` lines that form a single cycle (Sattolo's shuffle).
fn circle(number: usize, mut draws: Draws) -> Vec<Line> {
    let mut lines: Vec<Line> = (0..number as u32).map(|next| Line { next }).collect();
    for last in (1..number).rev() {
        let other = draws.between(0, last - 1);
        (lines[last].next, lines[other].next) = (lines[other].next, lines[last].next);
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_circle_leads_through_every_line() {
        let lines = circle(1000, Draws::of_worker(0));
        let mut seen = std::collections::HashSet::new();
        let mut at = 0;
        for _ in 0..1000 {
            at = follow(&lines, at, 1);
            seen.insert(at);
        }
        assert_eq!((seen.len(), at), (1000, 0));
        assert_eq!(size_of::<Line>(), LINE_BYTES);
    }
}
