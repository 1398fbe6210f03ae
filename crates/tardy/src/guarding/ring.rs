//! The place of a guard on disk: the log of its entries, and the archives of its sessions, within one size.
//!
//! The log is two files: the second is older and goes as a whole. Each entry is synced before it counts as written, so a
//! killed process loses none, and a machine without power at most the one being written. Archives go one by one, the oldest
//! first; the one being written never does.

use super::entry::{Entry, Fact, GUARD_VERSION};
use anyhow::Context;
use archive::directory::make_directories;
use rustix::fs::{FlockOperation, flock};
use serde::Deserialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

const LOG: &str = "accounts.jsonl";
const OLD_LOG: &str = "accounts.old.jsonl";
const SESSIONS: &str = "sessions";
const LOCK: &str = "lock";
/// Part of the ring for each file of the log, and part that the archive being written may take.
const LOG_SHARE: u64 = 16;
const SESSION_SHARE: u64 = 4;

/// The open ring; one process has it.
pub struct DiskRing {
    directory: PathBuf,
    bytes_max: u64,
    log: File,
    log_bytes: u64,
    next: u64,
    /// The lock goes with the file.
    _lock: File,
}

/// The facts of an entry that a later guard needs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KnownEntry {
    pub number: u64,
    pub kind: String,
    pub session: String,
    account: KnownAccount,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct KnownAccount {
    spike: u32,
}

impl KnownEntry {
    pub fn spike(&self) -> u32 {
        self.account.spike
    }
}

impl DiskRing {
    /// Opens the ring in a directory, or makes it. A half-written last line is cut off.
    ///
    /// # Errors
    /// If another guard has it, or the file system refuses.
    pub fn open(directory: &Path, size_mb: u32) -> anyhow::Result<Self> {
        let shown = directory.display();
        let fix = || format!("failed to write to {shown}; choose another place with --directory or `ring.directory`");
        make_directories(&directory.join(SESSIONS)).with_context(fix)?;
        let lock =
            OpenOptions::new().create(true).truncate(false).write(true).open(directory.join(LOCK)).with_context(fix)?;
        if flock(&lock, FlockOperation::NonBlockingLockExclusive).is_err() {
            let text = format!("another guard writes to {shown}; end it, or choose another --directory");
            return Err(crate::exit::UsageError(text).into());
        }
        let path = directory.join(LOG);
        let log = OpenOptions::new().create(true).append(true).read(true).open(&path).with_context(fix)?;
        let whole = whole_lines_bytes(&path)?;
        log.set_len(whole).with_context(fix)?;
        let next = entries(directory).last().map_or(1, |last| last.number + 1);
        let bytes_max = u64::from(size_mb) << 20;
        Ok(Self { directory: directory.to_owned(), bytes_max, log, log_bytes: whole, next, _lock: lock })
    }

    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Writes an entry; it is on the disk on return. Returns its number and line.
    ///
    /// # Errors
    /// If the file system refuses.
    pub fn append(&mut self, fact: Fact) -> io::Result<(u64, String)> {
        let number = self.next;
        let line = Entry { guard_version: GUARD_VERSION, number, unix_ns: unix_ns(), fact }.line();
        if self.log_bytes + line.len() as u64 > self.bytes_max / LOG_SHARE {
            fs::rename(self.directory.join(LOG), self.directory.join(OLD_LOG))?;
            self.log = OpenOptions::new().create(true).append(true).open(self.directory.join(LOG))?;
            self.log_bytes = 0;
        }
        self.log.write_all(line.as_bytes())?;
        self.log.sync_data()?;
        self.log_bytes += line.len() as u64;
        self.next += 1;
        Ok((number, line))
    }

    /// Every entry in the log, oldest first.
    pub fn entries(&self) -> Vec<KnownEntry> {
        entries(&self.directory)
    }

    /// A new directory for an archive.
    ///
    /// # Errors
    /// If it cannot be made.
    pub fn new_session(&self, host: &str) -> anyhow::Result<(PathBuf, String)> {
        let seconds = unix_ns() / 1_000_000_000;
        crate::archives::new_below(&self.directory.join(SESSIONS), u64::try_from(seconds).unwrap_or(0), host)
    }

    /// Where the archives are.
    pub fn sessions_directory(&self) -> PathBuf {
        self.directory.join(SESSIONS)
    }

    /// The archives, oldest first: their names begin with their time.
    pub fn sessions(&self) -> Vec<PathBuf> {
        let found = fs::read_dir(self.directory.join(SESSIONS)).into_iter().flatten().flatten();
        let mut found: Vec<(String, PathBuf)> =
            found.map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path())).collect();
        found.sort();
        found.into_iter().map(|(_, path)| path).collect()
    }

    /// Removes the oldest archives that have no room. Returns whether the one being written must end soon.
    pub fn make_room(&self, current: Option<&Path>) -> bool {
        let room = self.bytes_max - 2 * (self.bytes_max / LOG_SHARE);
        let sessions: Vec<(PathBuf, u64)> =
            self.sessions().into_iter().map(|path| (path.clone(), bytes_below(&path))).collect();
        let mut used: u64 = sessions.iter().map(|(_, bytes)| bytes).sum();
        for (path, bytes) in sessions.iter().filter(|(path, _)| Some(path.as_path()) != current) {
            if used <= room {
                break;
            }
            if fs::remove_dir_all(path).is_ok() {
                used -= bytes;
            }
        }
        let of_current = |(path, _): &&(PathBuf, u64)| Some(path.as_path()) == current;
        sessions.iter().find(of_current).is_some_and(|(_, bytes)| *bytes > self.bytes_max / SESSION_SHARE)
    }
}

/// Every entry of a log that another process may be writing, oldest first.
pub fn entries(directory: &Path) -> Vec<KnownEntry> {
    lines(directory).iter().filter_map(|line| serde_json::from_str(line).ok()).collect()
}

/// Every line of the log, oldest first.
pub fn lines(directory: &Path) -> Vec<String> {
    let open = |name: &str| File::open(directory.join(name)).ok();
    // The guard may rename the newer file at any time: it is opened first, and may be read twice.
    let newer = open(LOG);
    let files = [open(OLD_LOG), newer].into_iter().flatten();
    files.flat_map(|file| BufReader::new(file).lines().map_while(Result::ok)).collect()
}

/// The first lines of the log behind an entry, oldest first.
#[cfg(feature = "lab")]
pub fn lines_after(directory: &Path, number: u64, lines_max: usize) -> Vec<String> {
    let mut last = number;
    let mut is_next = |line: &String| {
        let found =
            serde_json::from_str::<KnownEntry>(line).ok().map(|entry| entry.number).filter(|found| *found > last);
        last = found.unwrap_or(last);
        found.is_some()
    };
    lines(directory).into_iter().filter(|line| is_next(line)).take(lines_max).collect()
}

/// The place of an archive of the ring; `None` if the name is not of one.
#[cfg(feature = "lab")]
pub fn session(directory: &Path, name: &str) -> Option<PathBuf> {
    let is_name = !name.is_empty() && !name.starts_with('.') && !name.contains('/');
    is_name.then(|| directory.join(SESSIONS).join(name))
}

/// Bytes up to the end of the last whole line.
fn whole_lines_bytes(path: &Path) -> io::Result<u64> {
    let bytes = fs::read(path)?;
    Ok(bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at as u64 + 1))
}

fn bytes_below(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else { return fs::symlink_metadata(path).map_or(0, |file| file.len()) };
    entries.flatten().map(|entry| bytes_below(&entry.path())).sum()
}

pub fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_numbered_over_restarts_and_a_half_line_is_cut_off() {
        let folder = tempfile::tempdir().unwrap();
        let mut ring = DiskRing::open(folder.path(), 8).unwrap();
        assert!(DiskRing::open(folder.path(), 8).is_err(), "one process has it");
        ring.append(Fact::Gap { ms: 1 }).unwrap();
        ring.append(Fact::Suppressed { misses: 2 }).unwrap();
        drop(ring);
        let path = folder.path().join(LOG);
        let mut cut = fs::read(&path).unwrap();
        cut.extend(b"{\"number\":3,\"ki");
        fs::write(&path, cut).unwrap();
        let mut ring = DiskRing::open(folder.path(), 8).unwrap();
        ring.append(Fact::Gap { ms: 4 }).unwrap();
        let known = ring.entries();
        let kinds: Vec<(u64, &str)> = known.iter().map(|entry| (entry.number, entry.kind.as_str())).collect();
        assert_eq!(kinds, [(1, "gap"), (2, "suppressed"), (3, "gap")]);
        #[cfg(feature = "lab")]
        names_and_numbers(folder.path());
    }

    #[cfg(feature = "lab")]
    fn names_and_numbers(ring: &Path) {
        let after = |number, lines_max| lines_after(ring, number, lines_max).len();
        assert_eq!([after(0, 9), after(1, 9), after(0, 2), after(3, 9)], [3, 2, 2, 0]);
        assert!(session(ring, "2026").is_some() && session(ring, "../x").is_none());
    }

    #[test]
    fn the_log_and_the_archives_stay_within_the_size() {
        let folder = tempfile::tempdir().unwrap();
        let mut ring = DiskRing::open(folder.path(), 1).unwrap();
        for _ in 0..3000 {
            ring.append(Fact::Gap { ms: 1 }).unwrap();
        }
        let entries = ring.entries();
        assert_eq!(entries.last().unwrap().number, 3000);
        assert!(entries.len() < 3000, "the oldest went");
        for name in ["2026-01", "2026-02", "2026-03"] {
            let session = folder.path().join(SESSIONS).join(name);
            fs::create_dir(&session).unwrap();
            fs::write(session.join("trace"), vec![0; 400 << 10]).unwrap();
        }
        let newest = folder.path().join(SESSIONS).join("2026-03");
        assert!(ring.make_room(Some(&newest)), "it takes more than a quarter");
        let left: Vec<_> = ring.sessions().iter().map(|path| path.file_name().unwrap().to_owned()).collect();
        assert_eq!(left, ["2026-02", "2026-03"]);
        assert!(bytes_below(folder.path()) <= 1 << 20);
    }
}
