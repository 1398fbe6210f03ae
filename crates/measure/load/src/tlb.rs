//! TLB shootdowns: while threads of one process run on all CPUs, each removes and restores the write permission of its
//! page. The kernel then interrupts every other CPU of the process and waits until it has flushed the translation.

use super::kernel::mapping::Mapping;
use super::kernel::process::exit_at_once;
use super::workers::Workers;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

pub fn start(workers: &mut Workers) -> io::Result<()> {
    let cpus = rustix::thread::sched_getaffinity(None).map_or(1, |set| set.count()).max(1);
    for _ in 0..workers.count() {
        workers.fork("load-tlb", |counter| work(cpus, counter))?;
    }
    Ok(())
}

fn work(threads: u32, counter: &AtomicU64) -> io::Error {
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(|| shoot(counter))).collect();
        // The first that fails ends the process, and the supervisor then the load.
        let error = shoot(counter);
        drop(others);
        eprintln!("load-tlb: {error}");
        exit_at_once(1)
    })
}

fn shoot(counter: &AtomicU64) -> io::Error {
    let mut page = match Mapping::new(rustix::param::page_size()) {
        Ok(page) => page,
        Err(error) => return error,
    };
    loop {
        // Other CPUs need not flush a translation that was not used since.
        page.touch(0);
        if let Err(error) = page.toggle_write_permission() {
            return error;
        }
        counter.fetch_add(1, Ordering::Relaxed);
    }
}
