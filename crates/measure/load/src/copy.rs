//! Copying a large file: page cache, block layer and memory bandwidth.
//!
//! Both files are nameless from the start, so that nothing stays behind however the load ends.

use super::kernel::write_back::start_write_back;
use super::place;
use super::workers::Workers;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::sync::atomic::{AtomicU64, Ordering};

/// Size of one file, if there is space.
const FILE_BYTES: u64 = 64 << 20;
const CHUNK_BYTES: usize = 128 << 10;
/// Bytes written back to the disk at a time: small enough that a slow card still shows progress every second.
const WRITE_BACK_BYTES: u64 = 4 << 20;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    let directory = workers.directory()?;
    // All files together use a quarter of the free space, which leaves the rest of the system unharmed.
    let file_bytes = (place::free_bytes(directory)? / (8 * u64::from(workers.count()))).min(FILE_BYTES);
    if file_bytes < CHUNK_BYTES as u64 {
        return Err(io::Error::new(io::ErrorKind::StorageFull, "there is no room for two files of 128 kB per worker"));
    }
    for _ in 0..workers.count() {
        let source = place::nameless_file(directory)?;
        let target = place::nameless_file(directory)?;
        workers.fork("load-copy", |counter| work(source, target, file_bytes, counter))?;
    }
    Ok(())
}

fn work(mut source: File, mut target: File, file_bytes: u64, counter: &AtomicU64) -> io::Error {
    let mut chunk = vec![0; CHUNK_BYTES];
    if let Err(error) = fill(&mut source, file_bytes, &mut chunk, counter) {
        return error;
    }
    loop {
        if let Err(error) = copy(&mut source, &mut target, &mut chunk, counter) {
            return error;
        }
    }
}

/// Writes incompressible data.
fn fill(source: &mut File, file_bytes: u64, chunk: &mut [u8], counter: &AtomicU64) -> io::Result<()> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for word in chunk.chunks_exact_mut(8) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        word.copy_from_slice(&state.to_ne_bytes());
    }
    for _ in 0..file_bytes / chunk.len() as u64 {
        source.write_all(chunk)?;
        counter.fetch_add(chunk.len() as u64, Ordering::Relaxed);
    }
    Ok(())
}

/// Copies the whole source over the emptied target.
fn copy(source: &mut File, target: &mut File, chunk: &mut [u8], counter: &AtomicU64) -> io::Result<()> {
    target.set_len(0)?;
    target.seek(SeekFrom::Start(0))?;
    source.seek(SeekFrom::Start(0))?;
    let mut copied = 0;
    let mut handed_over = 0;
    loop {
        let length = source.read(chunk)?;
        if length == 0 {
            return Ok(());
        }
        target.write_all(&chunk[..length])?;
        copied += length as u64;
        counter.fetch_add(length as u64, Ordering::Relaxed);
        if copied - handed_over >= WRITE_BACK_BYTES {
            start_write_back(target, handed_over, copied - handed_over);
            handed_over = copied;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_equals_its_source() {
        let mut source = tempfile::tempfile().expect("a file");
        let mut target = tempfile::tempfile().expect("a file");
        let counter = AtomicU64::new(0);
        let mut chunk = vec![0; 4096];
        fill(&mut source, 5 << 20, &mut chunk, &counter).expect("room");
        copy(&mut source, &mut target, &mut chunk, &counter).expect("room");
        copy(&mut source, &mut target, &mut chunk, &counter).expect("room");
        assert_eq!(counter.load(Ordering::Relaxed), 15 << 20);
        let contents = |file: &mut File| {
            let mut bytes = Vec::new();
            file.seek(SeekFrom::Start(0)).expect("a start");
            file.read_to_end(&mut bytes).expect("bytes");
            bytes
        };
        assert!(contents(&mut source) == contents(&mut target));
    }
}
