//! Huge pages: each touch of new memory clears 2 MB at once if the kernel has them, otherwise one small page.

use super::draws::Draws;
use super::kernel::mapping::Mapping;
use super::workers::Workers;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const HUGE_PAGE_BYTES: usize = 2 << 20;
const HUGE_PAGES_MAX: usize = 16;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for number in 0..workers.count() {
        workers.fork("load-thp", |counter| work(Draws::of_worker(number), counter))?;
    }
    Ok(())
}

fn work(mut draws: Draws, counter: &AtomicU64) -> io::Error {
    loop {
        match touch(draws.between(1, HUGE_PAGES_MAX)) {
            Ok(touched) => counter.fetch_add(touched, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

/// Touches `huge_pages` huge pages of new memory; returns their number.
fn touch(huge_pages: usize) -> io::Result<u64> {
    // One more than is touched: only whole, aligned ones can be huge.
    let mut region = Mapping::new((huge_pages + 1) * HUGE_PAGE_BYTES)?;
    region.prefer_huge_pages(true);
    let first = region.offset_of_alignment(HUGE_PAGE_BYTES);
    for page in 0..huge_pages {
        region.touch(first + page * HUGE_PAGE_BYTES);
    }
    Ok(huge_pages as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn as_many_are_touched_as_were_asked_for() {
        assert_eq!(super::touch(1).expect("4 MB of memory"), 1);
        assert_eq!(super::touch(3).expect("8 MB of memory"), 3);
    }
}
