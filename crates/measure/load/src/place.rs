//! Directories for the files of loads, and their removal.
//!
//! A load that needs names gets a locked directory `tardy-load-PID`. It is removed when the load ends; that of a killed
//! owner has lost its lock, and the next load removes it.

use rustix::fs::{Access, FlockOperation, Mode, OFlags};
use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const PREFIX: &str = "tardy-load-";
const TMPFS_MAGIC: i64 = 0x0102_1994;
/// The owner of a younger directory may be about to lock it.
const ABANDONED_AFTER: Duration = Duration::from_secs(10);

/// The need of a load for room in the file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Room {
    None,
    /// Many small entries; memory is as good as a disk.
    Entries,
    /// Much data, preferably on a disk.
    Bytes,
}

/// The first writable directory with enough space: TMPDIR if it is set, otherwise one that suits the load.
pub fn choose(room: Room, workers: u32) -> io::Result<Option<PathBuf>> {
    let usual: &[&str] = match room {
        Room::None => return Ok(None),
        Room::Entries => &["/dev/shm", "/tmp", "/var/tmp"],
        Room::Bytes => &["/tmp", "/var/tmp", "/dev/shm"],
    };
    let candidates = std::env::var_os("TMPDIR").map(PathBuf::from).into_iter().chain(usual.iter().map(PathBuf::from));
    candidates.filter(|path| writable(path)).find(|path| has_room(path, room, workers)).map(Some).ok_or_else(|| {
        io::Error::new(io::ErrorKind::StorageFull, "no directory for temporary files is writable and has room")
    })
}

fn writable(path: &Path) -> bool {
    path.is_absolute() && path.is_dir() && rustix::fs::access(path, Access::WRITE_OK | Access::EXEC_OK).is_ok()
}

fn has_room(path: &Path, room: Room, workers: u32) -> bool {
    match room {
        Room::None => true,
        Room::Entries => {
            let entries = u64::from(super::dentry::ENTRIES) * u64::from(workers.max(1));
            // Some file systems do not count entries and report 0 of 0.
            let enough = rustix::fs::statvfs(path).is_ok_and(|stat| stat.f_files == 0 || stat.f_favail > 2 * entries);
            enough && free_bytes(path).is_ok_and(|free| free > 4096 * entries)
        }
        Room::Bytes => has_space(path, workers),
    }
}

/// Whether there is space for files of at least 1 MB.
fn has_space(place: &Path, workers: u32) -> bool {
    free_bytes(place).is_ok_and(|free| free / (8 * u64::from(workers.max(1))) >= 1 << 20)
}

/// Bytes that an ordinary user may still write below `path`; on a file system in memory at most the free memory.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let stat = rustix::fs::statfs(path)?;
    let free = (stat.f_bavail as u64).saturating_mul(stat.f_bsize as u64);
    if stat.f_type as i64 == TMPFS_MAGIC {
        let available = std::fs::read_to_string("/proc/meminfo").ok().and_then(|text| memory_available_bytes(&text));
        return Ok(available.map_or(free, |available| available.min(free)));
    }
    Ok(free)
}

fn memory_available_bytes(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok().map(|kb| kb << 10)
}

/// A file that disappears with its last descriptor.
pub fn nameless_file(directory: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).mode(0o600);
    let tmpfile = options.clone().custom_flags(libc::O_TMPFILE).open(directory);
    tmpfile.or_else(|_| {
        // Some file systems do not support nameless files.
        let path = directory.join(format!("{PREFIX}file-{}", std::process::id()));
        let file = options.create_new(true).open(&path)?;
        std::fs::remove_file(&path)?;
        Ok(file)
    })
}

/// Name of the directory that the supervisor with this process number creates below `parent`.
pub fn own_directory(parent: &Path, supervisor: u32) -> PathBuf {
    parent.join(format!("{PREFIX}{supervisor}"))
}

/// A private directory of this process, locked while in use, removed when dropped.
#[derive(Debug)]
pub struct OwnDirectory {
    pub path: PathBuf,
    _lock: File,
}

impl OwnDirectory {
    pub fn create(parent: &Path) -> io::Result<Self> {
        sweep(parent, ABANDONED_AFTER);
        let path = own_directory(parent, std::process::id());
        DirBuilder::new().mode(0o700).create(&path)?;
        let lock = lock(&path)?;
        Ok(Self { path, _lock: lock })
    }
}

impl Drop for OwnDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Locks a directory unless another process holds it. Unlike a check whether a process exists, this works between
/// containers.
fn lock(path: &Path) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = rustix::fs::open(path, flags, Mode::empty())?;
    rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive)?;
    Ok(File::from(directory))
}

/// Removes this user's load directories whose owners are gone.
fn sweep(parent: &Path, abandoned_after: Duration) {
    let own_user = rustix::process::geteuid().as_raw();
    for entry in std::fs::read_dir(parent).into_iter().flatten().flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let old = |metadata: std::fs::Metadata| {
            let age = metadata.modified().ok().and_then(|modified| modified.elapsed().ok());
            metadata.is_dir() && metadata.uid() == own_user && age.is_some_and(|age| age >= abandoned_after)
        };
        if entry.metadata().is_ok_and(old)
            && let Ok(_lock) = lock(&entry.path())
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_own_directory_goes_with_its_contents() {
        let parent = tempfile::tempdir().expect("a directory");
        let own = OwnDirectory::create(parent.path()).expect("an own directory");
        std::fs::write(own.path.join("file"), "x").expect("a file");
        assert_eq!(own.path, own_directory(parent.path(), std::process::id()));
        drop(own);
        assert_eq!(std::fs::read_dir(parent.path()).expect("a listing").count(), 0);
    }

    #[test]
    fn a_sweep_takes_abandoned_directories_and_nothing_else() {
        let parent = tempfile::tempdir().expect("a directory");
        let path = |name: &str| parent.path().join(name);
        for name in ["tardy-load-1", "tardy-load-2", "others"] {
            std::fs::create_dir_all(path(name).join("0")).expect("a directory");
        }
        std::fs::write(path("tardy-load-file"), "x").expect("a file");
        let held = lock(&path("tardy-load-2")).expect("a lock");
        sweep(parent.path(), Duration::from_secs(3600));
        assert!(path("tardy-load-1").exists(), "a young directory may still get its lock");
        sweep(parent.path(), Duration::ZERO);
        assert!(!path("tardy-load-1").exists(), "no process holds this one");
        assert!(path("tardy-load-2").exists() && path("others").exists() && path("tardy-load-file").exists());
        drop(held);
    }

    #[test]
    fn a_nameless_file_is_in_no_listing() {
        let directory = tempfile::tempdir().expect("a directory");
        let _file = nameless_file(directory.path()).expect("a file");
        assert_eq!(std::fs::read_dir(directory.path()).expect("a listing").count(), 0);
    }

    #[test]
    fn available_memory_is_read_in_bytes() {
        assert_eq!(memory_available_bytes("MemTotal: 10 kB\nMemAvailable:   2048 kB\n"), Some(2 << 20));
        assert_eq!(memory_available_bytes("MemTotal: 10 kB\n"), None);
    }
}
