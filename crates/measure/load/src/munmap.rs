//! Freeing memory: regions of many sizes are populated in one call and unmapped in one call, page by page within the
//! kernel.

use super::draws::Draws;
use super::kernel::mapping::Mapping;
use super::workers::Workers;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGES_MIN: usize = 16;
const PAGES_MAX: usize = 8192;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for number in 0..workers.count() {
        workers.fork("load-munmap", |counter| work(Draws::of_worker(number), counter))?;
    }
    Ok(())
}

fn work(mut draws: Draws, counter: &AtomicU64) -> io::Error {
    loop {
        let pages = draws.between(PAGES_MIN, PAGES_MAX);
        match fill_and_unmap(pages) {
            Ok(()) => counter.fetch_add(pages as u64, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

fn fill_and_unmap(pages: usize) -> io::Result<()> {
    let page_bytes = rustix::param::page_size();
    let bytes = pages * page_bytes;
    let mut region = Mapping::new(bytes)?;
    region.prefer_huge_pages(false);
    for offset in (0..bytes).step_by(page_bytes) {
        region.touch(offset);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_smallest_and_a_large_region_come_and_go() {
        super::fill_and_unmap(super::PAGES_MIN).expect("some memory");
        super::fill_and_unmap(1024).expect("4 MB of memory");
    }
}
