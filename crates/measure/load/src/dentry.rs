//! Directory entries: the name cache, its locks and RCU work of the file system.
//!
//! Each worker fills its own directory with empty files, looks up as many names that do not exist (which the kernel
//! caches, too), and deletes the files in reverse order.

use super::workers::Workers;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, unlinkat};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// Most entries of one worker at a time.
pub const ENTRIES: u32 = 2048;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    let directory = workers.directory()?;
    for number in 0..workers.count() {
        let directory = directory.join(number.to_string());
        workers.fork("load-dentry", |counter| work(&directory, counter))?;
    }
    Ok(())
}

fn work(path: &Path, counter: &AtomicU64) -> io::Error {
    let open = || {
        mkdirat(CWD, path, Mode::RWXU)?;
        openat(CWD, path, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    };
    let directory = match open() {
        Ok(directory) => directory,
        Err(error) => return error.into(),
    };
    loop {
        if let Err(error) = round(directory.as_fd(), ENTRIES, counter) {
            return error;
        }
    }
}

/// Creates and deletes up to `entries` files and counts each of them once, a third of them in each part of the round: a
/// slow machine takes seconds for a part and must show progress. A full file system only shortens the round.
fn round(directory: BorrowedFd, entries: u32, counter: &AtomicU64) -> io::Result<()> {
    let create = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let mut created = 0;
    while created < entries {
        match openat(directory, name(created, 'e').as_str(), create, Mode::RUSR | Mode::WUSR) {
            Ok(file) => drop(file),
            Err(Errno::NOSPC | Errno::DQUOT) if created > 0 => break,
            Err(error) => return Err(error.into()),
        }
        counter.fetch_add(u64::from(created % 3 == 0), Ordering::Relaxed);
        created += 1;
    }
    for number in 0..created {
        let _ = rustix::fs::statat(directory, name(number, 'n').as_str(), AtFlags::empty());
        counter.fetch_add(u64::from(number % 3 == 1), Ordering::Relaxed);
    }
    for number in (0..created).rev() {
        unlinkat(directory, name(number, 'e').as_str(), AtFlags::empty())?;
        counter.fetch_add(u64::from(number % 3 == 2), Ordering::Relaxed);
    }
    Ok(())
}

/// Names long enough that the kernel stores them outside the entry, with neighbours far apart in the hash.
fn name(number: u32, kind: char) -> String {
    format!("{kind}{:064x}", u128::from(number.reverse_bits()) << 32 | u128::from(number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_counts_every_entry_and_leaves_none() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = std::fs::File::open(directory.path()).expect("an open directory");
        let counter = AtomicU64::new(0);
        round(file.as_fd(), 50, &counter).expect("a round");
        assert_eq!(counter.load(Ordering::Relaxed), 50);
        assert_eq!(std::fs::read_dir(directory.path()).expect("a listing").count(), 0);
    }

    #[test]
    fn names_differ() {
        let names: std::collections::HashSet<_> = (0..ENTRIES).map(|number| name(number, 'e')).collect();
        assert_eq!(names.len(), ENTRIES as usize);
    }
}
