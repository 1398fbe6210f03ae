//! Giving back memory: regions of many sizes are filled in one call and unmapped in one call, page after page within the
//! kernel.

use super::crew::Crew;
use super::draws::Draws;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const PAGES_MIN: usize = 16;
const PAGES_MAX: usize = 8192;

pub fn start(crew: &mut Crew) -> io::Result<()> {
    for number in 0..crew.workers.max(1) {
        crew.fork("load-munmap", |counter| work(Draws::of_worker(number), counter))?;
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
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address of the kernel's choice.
    let region = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)? };
    // SAFETY: the advice concerns the new mapping only; a kernel without huge pages refuses it, which is as good.
    let _ = unsafe { madvise(region, bytes, Advice::LinuxNoHugepage) };
    for offset in (0..bytes).step_by(page_bytes) {
        // SAFETY: the offset lies within the mapping, which nobody else knows; volatile keeps the write.
        unsafe { region.cast::<u8>().add(offset).write_volatile(1) };
    }
    // SAFETY: no reference into the mapping exists.
    unsafe { munmap(region, bytes)? };
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
