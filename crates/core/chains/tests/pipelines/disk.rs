//! A thread that reads from a disk past the page cache: the disk's interrupt ends each of its waits.

use crate::pipeline::pin;
use rustix::fs::OFlags;
use rustix::thread::gettid;
use std::fs::{self, File};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const BLOCK_BYTES: usize = 4096;

/// Whether a virtio disk is there, whose reads end with an interrupt of that name.
pub fn has_virtio_disk() -> bool {
    let interrupts = fs::read_to_string("/proc/interrupts").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/mounts").unwrap_or_default();
    interrupts.contains("virtio")
        && interrupts.contains("-req.")
        && mounts.lines().any(|line| line.starts_with("/dev/vd"))
}

/// A file on the disk, removed at the end.
struct Scratch(PathBuf);

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Reads `reads` blocks, each after a sleep, in a thread of its own. Returns the thread.
pub fn read(reads: usize) -> i32 {
    let scratch = Scratch(PathBuf::from(format!("/var/tmp/chains-{}", std::process::id())));
    fs::write(&scratch.0, vec![1; reads * BLOCK_BYTES]).unwrap();
    File::open(&scratch.0).unwrap().sync_all().unwrap();
    let direct = File::options().read(true).custom_flags(OFlags::DIRECT.bits() as i32).open(&scratch.0).unwrap();
    let reader = thread::Builder::new().name("reader".into()).spawn(move || {
        pin(0);
        let mut memory = vec![0; 2 * BLOCK_BYTES];
        let aligned = memory.as_ptr().align_offset(BLOCK_BYTES);
        let block = &mut memory[aligned..aligned + BLOCK_BYTES];
        for number in 0..reads {
            thread::sleep(Duration::from_millis(3));
            direct.read_exact_at(block, (number * BLOCK_BYTES) as u64).unwrap();
        }
        thread::sleep(Duration::from_millis(3));
        gettid().as_raw_nonzero().get()
    });
    reader.unwrap().join().unwrap()
}
