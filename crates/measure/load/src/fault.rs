//! Page faults: memory is mapped, every page of it touched, and unmapped again.

use super::kernel::mapping::Mapping;
use super::workers::Workers;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

const REGION_BYTES: usize = 4 << 20;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for _ in 0..workers.count() {
        workers.fork("load-fault", work)?;
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

/// Returns the number of touched pages.
fn touch_new_region() -> io::Result<u64> {
    let page_bytes = rustix::param::page_size();
    let mut region = Mapping::new(REGION_BYTES)?;
    // A huge page would turn a thousand faults into two.
    region.prefer_huge_pages(false);
    for offset in (0..REGION_BYTES).step_by(page_bytes) {
        region.touch(offset);
    }
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
