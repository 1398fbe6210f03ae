//! A directory of journals. It is checked before its contents are trusted: a process that can write a journal makes
//! `restore` write kernel settings as root.

use rustix::fs::{
    AtFlags, Dir, FileType, FlockOperation, Mode, OFlags, fchmod, flock, fstat, openat, renameat, unlinkat,
};
use rustix::process::geteuid;
use std::fs::{DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

const DIRECTORY_MODE: u32 = 0o700;
const FILE_MODE: u32 = 0o600;
/// Write permission of group and others.
const OPEN_TO_OTHERS: u32 = 0o022;
const JOURNAL_BYTES_MAX: u64 = 16 << 20;
const TURN_ASKED_MAX: u32 = 500;
const TURN_ASKED_AFTER: Duration = Duration::from_millis(10);

/// Why a file or directory is not trusted with changes to the machine.
#[derive(Debug, thiserror::Error)]
pub enum Untrusted {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is owned by user {owner}, and this is user {expected}")]
    Owner { owner: u32, expected: u32 },
    #[error("other users can write to it (mode {mode:04o})")]
    Mode { mode: u32 },
    #[error("it is a link, or no regular file")]
    Kind,
    #[error("it has {links} names")]
    Names { links: u64 },
    #[error("it is larger than {JOURNAL_BYTES_MAX} bytes")]
    Large,
}

impl From<rustix::io::Errno> for Untrusted {
    fn from(error: rustix::io::Errno) -> Self {
        match error {
            // Errno of open(2) for a symbolic link with `O_NOFOLLOW`.
            rustix::io::Errno::LOOP => Self::Kind,
            other => Self::Io(other.into()),
        }
    }
}

/// An open directory that belongs to the effective user and that no other user can write to.
#[derive(Debug)]
pub struct JournalDirectory {
    path: PathBuf,
    descriptor: OwnedFd,
}

impl JournalDirectory {
    /// Opens the directory, creating it if missing.
    ///
    /// # Errors
    /// [`Untrusted`].
    pub fn make(path: &Path) -> Result<Self, Untrusted> {
        DirBuilder::new().recursive(true).mode(DIRECTORY_MODE).create(path)?;
        Self::open(path)
    }

    /// # Errors
    /// [`Untrusted`]; also if it does not exist.
    pub fn open(path: &Path) -> Result<Self, Untrusted> {
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = rustix::fs::open(path, flags, Mode::empty())?;
        let expected = geteuid().as_raw();
        if let Some(parent) = path.parent() {
            // The owner of the parent could replace the directory.
            let owner = std::fs::metadata(parent)?.uid();
            if owner != expected && owner != 0 {
                return Err(Untrusted::Owner { owner, expected });
            }
        }
        let status = fstat(&descriptor)?;
        if status.st_uid != expected {
            return Err(Untrusted::Owner { owner: status.st_uid, expected });
        }
        if status.st_mode & 0o077 != 0 {
            fchmod(&descriptor, Mode::from_raw_mode(DIRECTORY_MODE))?;
        }
        Ok(Self { path: path.to_owned(), descriptor })
    }

    /// A new, empty file in it; an existing file with this name is replaced.
    ///
    /// # Errors
    /// Errors of creating a file.
    pub fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let create = || openat(&self.descriptor, name, flags, Mode::from_raw_mode(FILE_MODE));
        let created = create().or_else(|error| match error {
            rustix::io::Errno::EXIST => self.remove(name).map_err(|_| error).and_then(|()| create()),
            other => Err(other),
        })?;
        Ok(File::from(created))
    }

    /// Contents of a file in it, if the file is trusted.
    ///
    /// # Errors
    /// [`Untrusted`].
    pub fn read(&self, name: &str) -> Result<String, Untrusted> {
        // Opening a pipe must not block before its type is checked.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = openat(&self.descriptor, name, flags, Mode::empty())?;
        let status = fstat(&file)?;
        if FileType::from_raw_mode(status.st_mode) != FileType::RegularFile {
            return Err(Untrusted::Kind);
        }
        let expected = geteuid().as_raw();
        if status.st_uid != expected {
            return Err(Untrusted::Owner { owner: status.st_uid, expected });
        }
        if status.st_mode & OPEN_TO_OTHERS != 0 {
            return Err(Untrusted::Mode { mode: status.st_mode & 0o7777 });
        }
        if status.st_nlink != 1 {
            return Err(Untrusted::Names { links: status.st_nlink as u64 });
        }
        let mut text = Vec::new();
        File::from(file).take(JOURNAL_BYTES_MAX + 1).read_to_end(&mut text)?;
        if text.len() as u64 > JOURNAL_BYTES_MAX {
            return Err(Untrusted::Large);
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    /// Names of all journals in it, sorted.
    pub fn journals(&self) -> Vec<String> {
        self.ending(".jsonl")
    }

    /// Names with this ending, sorted.
    pub fn ending(&self, end: &str) -> Vec<String> {
        let Ok(entries) = Dir::read_from(&self.descriptor) else { return Vec::new() };
        let names = entries.flatten().filter_map(|entry| entry.file_name().to_str().ok().map(str::to_owned));
        let mut names: Vec<String> = names.filter(|name| name.ends_with(end)).collect();
        names.sort();
        names
    }

    /// # Errors
    /// Errors of renaming a file.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(renameat(&self.descriptor, from, &self.descriptor, to)?)
    }

    /// # Errors
    /// Errors of removing a file.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        Ok(unlinkat(&self.descriptor, name, AtFlags::empty())?)
    }

    /// Locks the directory until it is dropped. On a file system without locks there is no exclusion, and the wait for
    /// a holder that is stopped is limited to a few seconds.
    pub fn take_turn(self) -> Self {
        for _ in 0..TURN_ASKED_MAX {
            match flock(&self.descriptor, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) => std::thread::sleep(TURN_ASKED_AFTER),
                _ => break,
            }
        }
        self
    }

    /// Path of a file in it, for messages.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn directory_and_file_are_for_their_owner_alone_whatever_the_umask() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("state/journal");
        let before = rustix::process::umask(Mode::empty());
        let made = JournalDirectory::make(&path).and_then(|directory| Ok(directory.create("1.jsonl")?));
        rustix::process::umask(before);
        made.unwrap();
        assert_eq!([mode(&path), mode(&root.path().join("state")), mode(&path.join("1.jsonl"))], [0o700, 0o700, 0o600]);
    }

    #[test]
    fn a_directory_that_was_open_to_others_is_closed_and_what_they_could_write_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("journal");
        fs::create_dir(&path).unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o777)).unwrap();
        fs::write(path.join("1.jsonl"), "x").unwrap();
        fs::set_permissions(path.join("1.jsonl"), Permissions::from_mode(0o666)).unwrap();
        let directory = JournalDirectory::open(&path).unwrap();
        assert_eq!(mode(&path), 0o700);
        assert!(matches!(directory.read("1.jsonl"), Err(Untrusted::Mode { mode: 0o666 })));
    }

    #[test]
    fn links_pipes_and_second_names_are_not_journals() {
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("journal");
        let directory = JournalDirectory::make(&path).unwrap();
        let elsewhere = root.path().join("elsewhere");
        fs::write(&elsewhere, "{}").unwrap();
        fs::set_permissions(&elsewhere, Permissions::from_mode(0o600)).unwrap();
        symlink(&elsewhere, path.join("1.jsonl")).unwrap();
        fs::hard_link(&elsewhere, path.join("2.jsonl")).unwrap();
        rustix::fs::mknodat(rustix::fs::CWD, path.join("3.jsonl"), FileType::Fifo, Mode::from_raw_mode(0o600), 0)
            .unwrap();
        assert_eq!(directory.journals(), ["1.jsonl", "2.jsonl", "3.jsonl"]);
        assert!(matches!(directory.read("1.jsonl"), Err(Untrusted::Kind)));
        assert!(matches!(directory.read("2.jsonl"), Err(Untrusted::Names { links: 2 })));
        assert!(matches!(directory.read("3.jsonl"), Err(Untrusted::Kind)));
        // A symbolic link with the name of a new journal is replaced, and its target is unchanged.
        drop(directory.create("1.jsonl").unwrap());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "{}");
        let linked = root.path().join("linked");
        symlink(&path, &linked).unwrap();
        assert!(JournalDirectory::open(&linked).is_err());
    }

    #[test]
    fn a_directory_of_another_user_is_not_trusted() {
        prerequisites::require!(Root);
        let root = tempfile::tempdir().unwrap();
        let path = root.path().join("planted/journal");
        fs::create_dir_all(&path).unwrap();
        std::os::unix::fs::chown(root.path().join("planted"), Some(65_534), None).unwrap();
        let refused = JournalDirectory::make(&path);
        assert!(matches!(refused, Err(Untrusted::Owner { owner: 65_534, expected: 0 })), "{refused:?}");
        std::os::unix::fs::chown(root.path().join("planted"), Some(0), None).unwrap();
        std::os::unix::fs::chown(&path, Some(65_534), None).unwrap();
        assert!(matches!(JournalDirectory::make(&path), Err(Untrusted::Owner { .. })));
    }
}
