//! Walking a tree, as find and du do: reading directories, looking up names, filling the name cache and evicting it
//! again.
//!
//! The tree is the root file system, without other mounts. It is only read; if this process is permitted to, without
//! updating access times.

use super::workers::Workers;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

const ROOT: &str = "/";
/// Deeper directories are left out: no real tree is deeper.
const DEPTH_MAX: usize = 64;

pub fn start(workers: &mut Workers) -> io::Result<()> {
    for _ in 0..workers.count() {
        workers.fork("load-walk", |counter| work(Path::new(ROOT), counter))?;
    }
    Ok(())
}

fn work(root: &Path, counter: &AtomicU64) -> io::Error {
    loop {
        let before = counter.load(Ordering::Relaxed);
        if let Err(error) = walk(root, counter) {
            return error;
        }
        if counter.load(Ordering::Relaxed) == before {
            return io::Error::other(format!("{} has no entries to walk", root.display()));
        }
    }
}

/// Looks up and counts every entry below `root` on its file system. Entries that disappear or are not accessible are
/// skipped.
fn walk(root: &Path, counter: &AtomicU64) -> io::Result<()> {
    let device = fstat(open(root)?)?.st_dev;
    let mut below: Vec<(PathBuf, usize)> = vec![(root.to_owned(), 0)];
    while let Some((path, depth)) = below.pop() {
        let Ok(directory) = open(&path) else { continue };
        let Ok(entries) = Dir::read_from(&directory) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if [c".", c".."].contains(&name) {
                continue;
            }
            let Ok(stat) = statat(&directory, name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            counter.fetch_add(1, Ordering::Relaxed);
            if is_directory(&stat) && stat.st_dev == device && depth < DEPTH_MAX {
                below.push((path.join(std::ffi::OsStr::new(&*name.to_string_lossy())), depth + 1));
            }
        }
    }
    Ok(())
}

fn is_directory(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode as _) == FileType::Directory
}

fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // Only the owner of a directory and root may leave its access time unchanged.
    openat(CWD, path, flags | OFlags::NOATIME, Mode::empty()).or_else(|_| openat(CWD, path, flags, Mode::empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_counted_once_and_links_are_not_followed() {
        let root = tempfile::tempdir().expect("a directory");
        std::fs::create_dir_all(root.path().join("a/b/c")).expect("directories");
        std::fs::write(root.path().join("a/file"), "x").expect("a file");
        std::os::unix::fs::symlink(root.path(), root.path().join("a/loop")).expect("a link");
        let counter = AtomicU64::new(0);
        walk(root.path(), &counter).expect("a walk");
        assert_eq!(counter.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn an_empty_tree_ends_the_load() {
        let root = tempfile::tempdir().expect("a directory");
        assert!(work(root.path(), &AtomicU64::new(0)).to_string().contains("no entries"));
    }
}
