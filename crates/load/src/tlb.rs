//! TLB shootdowns: while threads of one process run on all CPUs, each takes rights of its page away and gives them back. The
//! kernel then interrupts every other CPU of the process and waits until it has forgotten the translation.

use super::crew::Crew;
use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect};
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

pub fn start(crew: &mut Crew) -> io::Result<()> {
    let cpus = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count()).max(1);
    for _ in 0..crew.workers.max(1) {
        crew.fork("load-tlb", |counter| work(cpus, counter))?;
    }
    Ok(())
}

fn work(threads: u32, counter: &AtomicU64) -> io::Error {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| shoot(counter))).collect();
        // The first that cannot go on ends the process, and the supervisor then the load.
        let error = shoot(counter);
        drop(others);
        eprintln!("load-tlb: {error}");
        // SAFETY: ends the process at once; the other threads hold nothing that must be put back.
        unsafe { libc::_exit(1) }
    })
}

fn shoot(counter: &AtomicU64) -> io::Error {
    let page_bytes = rustix::param::page_size();
    let both = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new private mapping at an address of the kernel's choice.
    let page = match unsafe { mmap_anonymous(std::ptr::null_mut(), page_bytes, both, MapFlags::PRIVATE) } {
        Ok(page) => page,
        Err(error) => return error.into(),
    };
    loop {
        if let Err(error) = take_and_give_back(page.cast(), page_bytes) {
            return error.into();
        }
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// One shootdown: the translation must have been used, or there is nothing to forget.
fn take_and_give_back(page: *mut u8, page_bytes: usize) -> rustix::io::Result<()> {
    // SAFETY: the caller's own page, writable at this point; volatile keeps the write.
    unsafe { page.write_volatile(1) };
    // SAFETY: the page is the caller's own, and nothing writes to it until the rights are back.
    unsafe { mprotect(page.cast(), page_bytes, MprotectFlags::READ)? };
    // SAFETY: as above.
    unsafe { mprotect(page.cast(), page_bytes, MprotectFlags::READ | MprotectFlags::WRITE) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_can_be_written_again_and_again() {
        let page_bytes = rustix::param::page_size();
        let both = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: a new private mapping at an address of the kernel's choice.
        let page =
            unsafe { mmap_anonymous(std::ptr::null_mut(), page_bytes, both, MapFlags::PRIVATE) }.expect("a page");
        for _ in 0..3 {
            take_and_give_back(page.cast(), page_bytes).expect("rights change");
        }
    }
}
