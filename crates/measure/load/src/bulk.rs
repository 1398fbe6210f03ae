//! Bulk transfers without the page cache: the device moves whole megabytes by DMA and competes for memory bandwidth.
//!
//! If the file system always uses its cache, such as one in memory, data is written back to the device block by block
//! instead. The file is nameless from the start, so that nothing stays behind however the load ends.

use super::kernel::mapping::Mapping;
use super::place;
use super::workers::Workers;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, fdatasync};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

const FILE_BYTES: u64 = 32 << 20;
const BLOCK_BYTES: usize = 1 << 20;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    let directory = workers.directory()?;
    let blocks =
        (place::free_bytes(directory)? / (8 * u64::from(workers.count()))).min(FILE_BYTES) / BLOCK_BYTES as u64;
    if blocks == 0 {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "there is no room for a file of 1 MB per worker"));
    }
    for _ in 0..workers.count() {
        let file = place::nameless_file(directory)?;
        workers.fork("load-bulk", |counter| work(&file, blocks, counter))?;
    }
    Ok(())
}

fn work(file: &File, blocks: u64, counter: &AtomicU64) -> io::Error {
    let mut block = match aligned_block() {
        Ok(block) => block,
        Err(error) => return error,
    };
    let block = block.as_mut_slice();
    let mut direct = direct(file);
    loop {
        match round(file, blocks, block, direct, counter) {
            // Some file systems accept the flag but reject the transfer.
            Err(error) if direct && error.kind() == io::ErrorKind::InvalidInput => {
                let without = fcntl_getfl(file).unwrap_or(OFlags::empty()) & !OFlags::DIRECT;
                if let Err(error) = fcntl_setfl(file, without) {
                    return error.into();
                }
                direct = false;
            }
            Err(error) => return error,
            Ok(()) => {}
        }
    }
}

/// Enables transfers without the page cache; returns whether that succeeded.
fn direct(file: &File) -> bool {
    fcntl_getfl(file).is_ok_and(|flags| fcntl_setfl(file, flags | OFlags::DIRECT).is_ok())
}

/// Writes the whole file, then reads it.
fn round(file: &File, blocks: u64, block: &mut [u8], direct: bool, counter: &AtomicU64) -> io::Result<()> {
    for number in 0..blocks {
        file.write_all_at(block, number * BLOCK_BYTES as u64)?;
        if !direct {
            fdatasync(file)?;
        }
        counter.fetch_add(BLOCK_BYTES as u64, Ordering::Relaxed);
    }
    for number in 0..blocks {
        file.read_exact_at(block, number * BLOCK_BYTES as u64)?;
        counter.fetch_add(BLOCK_BYTES as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Memory for direct transfers, aligned to a page, with data that no device and no file system can compress.
fn aligned_block() -> io::Result<Mapping> {
    let mut block = Mapping::new(BLOCK_BYTES)?;
    let mut draws = super::draws::Draws::of_worker(0);
    block.as_mut_slice().fill_with(|| draws.between(0, 255) as u8);
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_written_read_and_counted() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = place::nameless_file(directory.path()).expect("a file");
        let mut block = aligned_block().expect("memory");
        let block = block.as_mut_slice();
        let before = block.to_vec();
        let counter = AtomicU64::new(0);
        round(&file, 2, block, false, &counter).expect("a round");
        assert_eq!(counter.load(Ordering::Relaxed), 4 * BLOCK_BYTES as u64);
        assert!(block == before.as_slice());
    }
}
