//! The archives of a store: a directory. One that is in it already stays where it is; another is copied under its address.

use crate::digest::{Contents, PIECE_BYTES, Sum};
use crate::error::StoreError;
use archive::directory::{ArchiveDirectory, make_directories};
use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Folder of the copies, below the directory of archives.
const KEPT: &str = "kept";
/// Derived files that are copied as well: making them again is slow.
const DERIVED: [&str; 1] = ["explanations.json"];

#[derive(Debug, Clone)]
pub struct Artefacts {
    root: PathBuf,
}

impl Artefacts {
    pub fn open(root: &Path) -> Result<Self, StoreError> {
        make_directories(root).map_err(StoreError::io(root))?;
        Ok(Self { root: fs::canonicalize(root).map_err(StoreError::io(root))? })
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where an archive of the store is.
    pub fn path(&self, location: &str) -> PathBuf {
        self.root.join(location)
    }

    /// The location of an archive that is below the directory.
    pub fn location(&self, archive: &Path) -> Option<String> {
        let path = fs::canonicalize(archive).ok()?;
        let below = path.strip_prefix(&self.root).ok().filter(|below| !below.as_os_str().is_empty())?;
        below.to_str().map(str::to_owned)
    }

    /// Copies an archive into the directory and on the disk, and returns its location. A crash leaves a hidden directory, or
    /// the whole copy; of several callers with the same archive, one makes the copy.
    pub fn keep(&self, archive: &ArchiveDirectory, contents: &Contents) -> Result<String, StoreError> {
        static COPIES: AtomicU64 = AtomicU64::new(0);
        let digest = contents.digest();
        let location = kept_location(&digest);
        let kept = self.root.join(&location);
        if kept.is_dir() {
            return Ok(location);
        }
        let folder = kept.parent().unwrap_or(&self.root);
        make_directories(folder).map_err(StoreError::io(&kept))?;
        let number = COPIES.fetch_add(1, Ordering::Relaxed);
        let copy = folder.join(format!(".{digest}-{}-{number}", std::process::id()));
        let made = copied(archive, contents, &copy).and_then(|()| put_in_place(&copy, &kept));
        if made.is_err() {
            let _ = fs::remove_dir_all(&copy);
        }
        made.map(|_| location).map_err(StoreError::io(&kept))
    }
}

/// Where the archive with this address is kept, relative to the directory.
pub fn kept_location(digest: &str) -> String {
    Path::new(KEPT).join(&digest[..2]).join(digest).display().to_string()
}

/// Gives a directory with an archive its name, on the disk. Of several callers with the same archive, one does; returns
/// whether this one did.
pub fn put_in_place(copy: &Path, kept: &Path) -> io::Result<bool> {
    match fs::rename(copy, kept) {
        // Another caller was faster.
        Err(_) if kept.is_dir() => fs::remove_dir_all(copy).map(|()| false),
        renamed => renamed.and_then(|()| fs::File::open(kept.join(".."))?.sync_all()).map(|()| true),
    }
}

/// Puts the names of these files, and of the folders that they are in, on the disk.
pub fn sync_names<'a>(archive: &ArchiveDirectory, files: impl Iterator<Item = &'a str>) -> io::Result<()> {
    let folders: BTreeSet<&Path> =
        files.flat_map(|name| Path::new(name).ancestors().skip(1)).filter(|of| !of.as_os_str().is_empty()).collect();
    folders.into_iter().try_for_each(|folder| archive.sync_folder(folder))?;
    archive.sync_names()
}

fn copied(archive: &ArchiveDirectory, contents: &Contents, copy: &Path) -> io::Result<()> {
    make_directories(copy)?;
    let target = ArchiveDirectory::open(copy)?;
    let derived = DERIVED.into_iter().filter(|name| archive.has(name));
    let names: Vec<&str> = contents.files.iter().map(|file| file.name.as_str()).chain(derived).collect();
    let (mut copied, mut buffer) = (Contents::default(), vec![0; PIECE_BYTES]);
    for name in &names {
        let (mut from, mut to, mut sum) = (archive.file(name)?, target.create(name)?, Sum::default());
        loop {
            match from.read(&mut buffer)? {
                0 => break,
                count => {
                    to.write_all(&buffer[..count])?;
                    sum.add(&buffer[..count]);
                }
            }
        }
        to.sync_all()?;
        copied.files.push(sum.of((*name).to_owned()));
    }
    copied.files.truncate(contents.files.len());
    // What was copied is what was summed, even if a file changed in between.
    if copied != *contents {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the archive changed while it was copied"));
    }
    sync_names(&target, names.into_iter())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_archive_is_copied_once_and_one_inside_stays() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let artefacts = Artefacts::open(root.path()).unwrap();
        let archive = ArchiveDirectory::open(outside.path()).unwrap();
        archive.replace("manifest.json", b"{}").unwrap();
        archive.replace("explanations.json", b"[]").unwrap();
        archive.replace("spikes/0001/trace.dat", b"t").unwrap();
        let contents = Contents::of(&archive).unwrap();
        let location = artefacts.keep(&archive, &contents).unwrap();
        assert_eq!(artefacts.keep(&archive, &contents).unwrap(), location);
        let kept = artefacts.path(&location);
        assert_eq!(fs::read(kept.join("spikes/0001/trace.dat")).unwrap(), b"t");
        assert!(kept.join("explanations.json").is_file());
        assert_eq!(fs::read_dir(kept.parent().unwrap()).unwrap().count(), 1);
        assert_eq!(artefacts.location(&kept), Some(location));
        assert_eq!(artefacts.location(outside.path()), None);
        assert_eq!(artefacts.location(root.path()), None);
    }
}
