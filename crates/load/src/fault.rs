//! Page faults: memory is mapped, every page of it touched, and unmapped again.

use super::crew::Crew;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const REGION_BYTES: usize = 4 << 20;

pub fn start(crew: &mut Crew) -> io::Result<()> {
    for _ in 0..crew.workers.max(1) {
        crew.fork("load-fault", work)?;
    }
    Ok(())
}

fn work(counter: &AtomicU64) -> io::Error {
    loop {
        match touch_new_region() {
            Ok(faults) => counter.fetch_add(faults, Ordering::Relaxed),
            Err(error) => return error,
        };
    }
}

/// Returns how many pages were touched.
fn touch_new_region() -> io::Result<u64> {
    let page_bytes = rustix::param::page_size();
    let protection = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address of the kernel's choice.
    let region = unsafe { mmap_anonymous(std::ptr::null_mut(), REGION_BYTES, protection, MapFlags::PRIVATE)? };
    // A huge page would turn a thousand faults into two; a kernel without them refuses, which is as good.
    // SAFETY: the advice concerns the new mapping only and does not change its contents.
    let _ = unsafe { madvise(region, REGION_BYTES, Advice::LinuxNoHugepage) };
    for offset in (0..REGION_BYTES).step_by(page_bytes) {
        // SAFETY: the offset lies within the mapping, which nobody else knows; volatile keeps the write.
        unsafe { region.cast::<u8>().add(offset).write_volatile(1) };
    }
    // SAFETY: no reference into the mapping exists.
    unsafe { munmap(region, REGION_BYTES)? };
    Ok((REGION_BYTES / page_bytes) as u64)
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_page_of_the_region_is_a_fault() {
        let before = minor_faults();
        let faults = super::touch_new_region().expect("4 MB of memory");
        assert!(faults > 0);
        assert!(minor_faults() - before >= faults, "the kernel saw fewer faults than were claimed");
    }

    fn minor_faults() -> u64 {
        let stat = std::fs::read("/proc/thread-self/stat").expect("own stat");
        let end = stat.iter().rposition(|&byte| byte == b')').expect("a name");
        String::from_utf8_lossy(&stat[end..])
            .split_whitespace()
            .nth(8)
            .and_then(|field| field.parse().ok())
            .expect("faults")
    }
}
