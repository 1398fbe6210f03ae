//! Huge pages: each touch of new memory clears 2 MB at once, where the kernel has them, and a small page elsewhere.

use super::crew::Crew;
use super::draws::Draws;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const HUGE_PAGE_BYTES: usize = 2 << 20;
const HUGE_PAGES_MAX: usize = 16;

pub fn start(crew: &mut Crew) -> io::Result<()> {
    for number in 0..crew.workers.max(1) {
        crew.fork("load-thp", |counter| work(Draws::of_worker(number), counter))?;
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

/// Touches so many huge pages of new memory; answers how many.
fn touch(huge_pages: usize) -> io::Result<u64> {
    // One more than is touched: only whole, aligned ones can be huge.
    let bytes = (huge_pages + 1) * HUGE_PAGE_BYTES;
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address of the kernel's choice.
    let region = unsafe { mmap_anonymous(std::ptr::null_mut(), bytes, protection, MapFlags::PRIVATE)? };
    // SAFETY: the advice concerns the new mapping only; a kernel without huge pages refuses it.
    let _ = unsafe { madvise(region, bytes, Advice::LinuxHugepage) };
    let first = region.align_offset(HUGE_PAGE_BYTES);
    for offset in (0..huge_pages).map(|page| first + page * HUGE_PAGE_BYTES) {
        // SAFETY: the offset lies within the mapping, which nobody else knows; volatile keeps the write.
        unsafe { region.cast::<u8>().add(offset).write_volatile(1) };
    }
    // SAFETY: no reference into the mapping exists.
    unsafe { munmap(region, bytes)? };
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
