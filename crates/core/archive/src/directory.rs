//! The only access to the files of an archive: it opens nothing through a symbolic link, nothing but regular files,
//! nothing outside the archive's directory, and no more of a file than its reader can use.
//!
//! An archive may come from an untrusted source. The user chose its directory; every name in it is resolved part by
//! part, each relative to the directory opened before, so that a link planted during the resolution is detected, too.

use crate::write_error::WriteError;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, fstat, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use thiserror::Error;

/// Why a file is not opened. It is inside an [`io::Error`].
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum Refusal {
    #[error("it is a link or no file, and an archive holds files alone")]
    NoFile,
    #[error("a link or a file stands where the archive has a directory")]
    NoDirectory,
    #[error("it has {bytes} bytes, and {bytes_max} are the most that are read")]
    TooLarge { bytes: u64, bytes_max: u64 },
    #[error("it is not a name inside an archive")]
    Outside,
}

impl From<Refusal> for io::Error {
    fn from(refusal: Refusal) -> Self {
        Self::new(io::ErrorKind::InvalidData, refusal)
    }
}

/// An archive's directory, open.
#[derive(Debug)]
pub struct ArchiveDirectory {
    directory: OwnedFd,
    path: PathBuf,
}

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// NONBLOCK: a pipe or a device would otherwise wait for its other end.
const FILE: OFlags = OFlags::NOFOLLOW.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC).union(OFlags::NOCTTY);
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);

impl ArchiveDirectory {
    /// Opens the directory itself. The user named it, so its own path may contain links.
    ///
    /// # Errors
    /// Errors of opening a directory.
    pub fn open(path: &Path) -> io::Result<Self> {
        let here = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Ok(Self { directory: openat(CWD, here, DIRECTORY, Mode::empty())?, path: path.to_owned() })
    }

    /// Whether the name exists, even as a link.
    pub fn has(&self, name: impl AsRef<Path>) -> bool {
        let found = self.parent(name.as_ref(), false);
        found.is_ok_and(|(parent, name)| statat(parent.at(self), name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
    }

    /// Opens a regular file for reading.
    ///
    /// # Errors
    /// Errors of opening it, and [`Refusal`].
    pub fn file(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.opened(name.as_ref(), OFlags::RDONLY)
    }

    /// Names in a folder of the archive, sorted; those in the archive itself for `None`. Of more than `names_max` any
    /// `names_max` are returned.
    ///
    /// # Errors
    /// Errors of opening and reading the folder, and [`Refusal`] for one that is a link.
    pub fn names(&self, folder: Option<&Path>, names_max: usize) -> io::Result<Vec<OsString>> {
        let here = Path::new("x");
        let inside = folder.map_or_else(|| here.to_owned(), |folder| folder.join(here));
        let (parent, _) = self.parent(&inside, false)?;
        let mut names = Vec::new();
        for entry in Dir::read_from(parent.at(self))?.take(names_max.saturating_add(2)) {
            let name = OsStr::from_bytes(entry?.file_name().to_bytes()).to_owned();
            if name != "." && name != ".." && names.len() < names_max {
                names.push(name);
            }
        }
        names.sort();
        Ok(names)
    }

    /// Opens a regular file for appending.
    ///
    /// # Errors
    /// As [`Self::file`].
    pub fn file_to_append(&self, name: impl AsRef<Path>) -> io::Result<File> {
        self.opened(name.as_ref(), OFlags::WRONLY | OFlags::APPEND)
    }

    fn opened(&self, name: &Path, how: OFlags) -> io::Result<File> {
        let (parent, name) = self.parent(name, false)?;
        // Checked before opening, because opening a device can have side effects.
        regular(statat(parent.at(self), name, AtFlags::SYMLINK_NOFOLLOW)?.st_mode)?;
        let file = openat(parent.at(self), name, how | FILE, Mode::empty()).map_err(|error| match error {
            Errno::LOOP => Refusal::NoFile.into(),
            error => io::Error::from(error),
        })?;
        regular(fstat(&file)?.st_mode)?;
        Ok(file.into())
    }

    /// All bytes of a file.
    ///
    /// # Errors
    /// As [`Self::file`], and [`Refusal::TooLarge`].
    pub fn read(&self, name: impl AsRef<Path>, bytes_max: u64) -> io::Result<Vec<u8>> {
        let file = self.file(name)?;
        let bytes = file.metadata()?.len();
        if bytes > bytes_max {
            return Err(Refusal::TooLarge { bytes, bytes_max }.into());
        }
        let mut contents = Vec::new();
        file.take(bytes_max).read_to_end(&mut contents)?;
        Ok(contents)
    }

    /// Creates an empty file, replacing any file of that name, and the directories it needs.
    ///
    /// # Errors
    /// Errors of making them, and [`Refusal`].
    pub fn create(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let (parent, name) = self.parent(name.as_ref(), true)?;
        match unlinkat(parent.at(self), name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | FILE;
        Ok(openat(parent.at(self), name, flags, FILE_MODE)?.into())
    }

    /// Creates an empty file that does not exist yet: of several concurrent callers, one succeeds.
    ///
    /// # Errors
    /// [`io::ErrorKind::AlreadyExists`], and those of making a file.
    pub fn create_first(&self, name: impl AsRef<Path>) -> io::Result<File> {
        let (parent, name) = self.parent(name.as_ref(), true)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | FILE;
        Ok(openat(parent.at(self), name, flags, FILE_MODE)?.into())
    }

    /// Replaces a file in one step: a reader, or a crash, sees the old one or the new one. A link of its name is replaced,
    /// not followed.
    ///
    /// # Errors
    /// As [`Self::create`], and those of writing.
    pub fn replace(&self, name: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
        let name = name.as_ref();
        let mut partial = name.as_os_str().to_owned();
        partial.push(".partial");
        let partial = PathBuf::from(partial);
        let write = || {
            let mut file = self.create(&partial)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            self.rename(&partial, name)
        };
        write().inspect_err(|_| {
            let _ = self.remove(&partial);
        })
    }

    /// Renames a file.
    ///
    /// # Errors
    /// Errors of renaming, and [`Refusal`].
    pub fn rename(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> io::Result<()> {
        let (from_parent, from) = self.parent(from.as_ref(), false)?;
        let (to_parent, to) = self.parent(to.as_ref(), true)?;
        Ok(renameat(from_parent.at(self), from, to_parent.at(self), to)?)
    }

    /// Removes a file, or a link itself.
    ///
    /// # Errors
    /// Errors of removing.
    pub fn remove(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let (parent, name) = self.parent(name.as_ref(), false)?;
        Ok(unlinkat(parent.at(self), name, AtFlags::empty())?)
    }

    /// Syncs a file of the archive, and its name in the directory that it is in, to disk.
    ///
    /// # Errors
    /// Errors of opening and writing back.
    pub fn sync(&self, name: impl AsRef<Path>) -> io::Result<()> {
        let name = name.as_ref();
        self.file(name)?.sync_all()?;
        let (parent, _) = self.parent(name, false)?;
        Ok(rustix::fs::fsync(parent.at(self))?)
    }

    /// Syncs the names in a directory of the archive to disk.
    ///
    /// # Errors
    /// Errors of opening and writing back.
    pub fn sync_folder(&self, name: impl AsRef<Path>) -> io::Result<()> {
        // Any name inside, to get its parent.
        let inside = name.as_ref().join("x");
        let (parent, _) = self.parent(&inside, false)?;
        Ok(rustix::fs::fsync(parent.at(self))?)
    }

    /// Syncs the names in the archive's directory, and the name of the archive itself, to disk.
    ///
    /// # Errors
    /// Errors of writing back.
    pub fn sync_names(&self) -> io::Result<()> {
        rustix::fs::fsync(&self.directory)?;
        let above = openat(&self.directory, "..", DIRECTORY, Mode::empty())?;
        Ok(rustix::fs::fsync(above)?)
    }

    fn parent<'a>(&self, name: &'a Path, make: bool) -> io::Result<(Parent, &'a OsStr)> {
        let mut parts = Vec::new();
        for part in name.components() {
            match part {
                Component::Normal(part) => parts.push(part),
                _ => return Err(Refusal::Outside.into()),
            }
        }
        let Some((name, folders)) = parts.split_last() else { return Err(Refusal::Outside.into()) };
        let mut parent = Parent(None);
        for folder in folders {
            if make
                && let Err(error) = mkdirat(parent.at(self), *folder, DIRECTORY_MODE)
                && error != Errno::EXIST
            {
                return Err(error.into());
            }
            let opened = openat(parent.at(self), *folder, DIRECTORY | OFlags::NOFOLLOW, Mode::empty());
            parent = Parent(Some(opened.map_err(|error| match error {
                Errno::LOOP | Errno::NOTDIR => Refusal::NoDirectory.into(),
                error => io::Error::from(error),
            })?));
        }
        Ok((parent, name))
    }

    /// The path with which the archive was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Makes a directory, and those above it that are missing, and puts their names on the disk.
///
/// # Errors
/// Errors of making directories and of writing back.
pub fn make_directories(path: &Path) -> io::Result<()> {
    let here = |path: &Path| if path.as_os_str().is_empty() { PathBuf::from(".") } else { path.to_owned() };
    if here(path).is_dir() {
        return Ok(());
    }
    let above = path.parent().unwrap_or(Path::new(""));
    make_directories(above)?;
    match fs::create_dir(path) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => File::open(here(above))?.sync_all(),
    }
}

/// The directory of a name, where it is not that of the archive.
struct Parent(Option<OwnedFd>);

impl Parent {
    fn at<'a>(&'a self, archive: &'a ArchiveDirectory) -> &'a OwnedFd {
        self.0.as_ref().unwrap_or(&archive.directory)
    }
}

fn regular(mode: u32) -> io::Result<()> {
    match FileType::from_raw_mode(mode) {
        FileType::RegularFile => Ok(()),
        _ => Err(Refusal::NoFile.into()),
    }
}

/// Replaces a file of an archive that is not open.
///
/// # Errors
/// [`WriteError::Io`] with the file's path.
pub fn replace_inside(directory: &Path, name: impl AsRef<Path>, bytes: &[u8]) -> Result<(), WriteError> {
    let name = name.as_ref();
    let replaced = ArchiveDirectory::open(directory).and_then(|archive| archive.replace(name, bytes));
    replaced.map_err(|source| WriteError::Io { path: directory.join(name), source })
}

/// All bytes of a file of an archive that is not open.
///
/// # Errors
/// As [`ArchiveDirectory::read`].
pub fn read_inside(directory: &Path, name: impl AsRef<Path>, bytes_max: u64) -> io::Result<Vec<u8>> {
    ArchiveDirectory::open(directory)?.read(name, bytes_max)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    fn refusal(error: &io::Error) -> Option<&Refusal> {
        error.get_ref()?.downcast_ref()
    }

    #[test]
    fn a_link_is_replaced_and_never_written_through() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let victim = outside.path().join("victim");
        fs::write(&victim, "precious").unwrap();
        for name in ["report.html", "report.html.partial"] {
            symlink(&victim, folder.path().join(name)).unwrap();
        }
        symlink(outside.path(), folder.path().join("spikes")).unwrap();
        let archive = ArchiveDirectory::open(folder.path()).unwrap();
        archive.replace("report.html", b"page").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("report.html")).unwrap(), "page");
        assert!(fs::symlink_metadata(folder.path().join("report.html")).unwrap().is_file());
        let error = archive.replace("spikes/0001/flight.bin", b"x").unwrap_err();
        assert_eq!(refusal(&error), Some(&Refusal::NoDirectory));
        assert_eq!(fs::read_to_string(&victim).unwrap(), "precious");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_no_file_and_what_is_too_large_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let archive = ArchiveDirectory::open(folder.path()).unwrap();
        rustix::fs::mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, FILE_MODE, 0).unwrap();
        symlink("/dev/zero", folder.path().join("device")).unwrap();
        symlink("/etc/passwd", folder.path().join("link")).unwrap();
        fs::create_dir(folder.path().join("folder")).unwrap();
        for name in ["pipe", "device", "link", "folder"] {
            let error = archive.read(name, 100).unwrap_err();
            assert_eq!(refusal(&error), Some(&Refusal::NoFile), "{name}");
            assert!(archive.has(name));
        }
        fs::File::create(folder.path().join("sparse")).unwrap().set_len(1 << 40).unwrap();
        let error = archive.read("sparse", 100).unwrap_err();
        assert_eq!(refusal(&error), Some(&Refusal::TooLarge { bytes: 1 << 40, bytes_max: 100 }));
        for name in ["../x", "/etc/passwd", "", ".", "a/../../x"] {
            assert_eq!(refusal(&archive.read(name, 100).unwrap_err()), Some(&Refusal::Outside), "{name:?}");
        }
    }

    #[test]
    fn names_are_those_of_a_folder_and_never_of_a_link() {
        let (folder, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let archive = ArchiveDirectory::open(folder.path()).unwrap();
        for name in ["b", "a", "spikes/0002", "spikes/0001"] {
            archive.create(name).unwrap();
        }
        symlink(outside.path(), folder.path().join("samples")).unwrap();
        assert_eq!(archive.names(None, 9).unwrap(), ["a", "b", "samples", "spikes"]);
        assert_eq!(archive.names(Some(Path::new("spikes")), 9).unwrap(), ["0001", "0002"]);
        assert_eq!(archive.names(Some(Path::new("spikes")), 1).unwrap().len(), 1);
        let error = archive.names(Some(Path::new("samples")), 9).unwrap_err();
        assert_eq!(refusal(&error), Some(&Refusal::NoDirectory));
        assert!(archive.names(Some(Path::new("../x")), 9).is_err());
    }

    #[test]
    fn directories_are_made_and_a_file_is_replaced_whole() {
        let folder = tempfile::tempdir().unwrap();
        let archive = ArchiveDirectory::open(folder.path()).unwrap();
        for text in ["old", "new"] {
            archive.replace("spikes/0001/flight.bin", text.as_bytes()).unwrap();
            assert_eq!(archive.read("spikes/0001/flight.bin", 10).unwrap(), text.as_bytes());
        }
        assert_eq!(fs::read_dir(folder.path().join("spikes/0001")).unwrap().count(), 1);
        archive.sync("spikes/0001/flight.bin").unwrap();
        archive.sync_names().unwrap();
        assert!(archive.file("spikes/0002/flight.bin").is_err_and(|error| error.kind() == io::ErrorKind::NotFound));
    }
}
