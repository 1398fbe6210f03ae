//! Possible contents of a disk after a power cut: everything that was synced, and any part of the rest.
//!
//! The model is that of POSIX and more pessimistic than any file system: the bytes of a file are safe after its fsync,
//! its name is safe after an fsync of the directory, and everything else may or may not be there, each write
//! independently. A rename is atomic.

use crate::record::{Operation, Recorded};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Draws a number from 0 to `choices` - 1.
pub trait Choose {
    fn choose(&mut self, choices: u64) -> u64;
}

/// Random numbers by xorshift, from a seed.
#[derive(Debug, Clone)]
pub struct Seed(pub u64);

impl Choose for Seed {
    fn choose(&mut self, choices: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % choices.max(1)
    }
}

/// A disk writes all of a sector or nothing of it.
const SECTOR_BYTES: usize = 512;

/// The part of the unsynced changes that reached the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unsynced {
    None,
    All,
    /// Each change independently at random.
    Some,
    /// The same, and of each write any number of whole sectors from its start.
    Torn,
    /// Files have their length, with zeros where nothing was synced, as on a file system that writes data last.
    Zeros,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Node {
    File(u64),
    Directory,
}

/// The contents of a disk.
#[derive(Debug, Default)]
pub struct Disk {
    names: BTreeMap<PathBuf, Node>,
    contents: BTreeMap<u64, Vec<u8>>,
}

impl Disk {
    /// The disk after a power cut that follows `operations` operations.
    pub fn after(recorded: &Recorded, operations: usize, unsynced: Unsynced, choose: &mut dyn Choose) -> Self {
        let operations = &recorded.operations[..operations];
        let mut disk = Self::default();
        for (at, operation) in operations.iter().enumerate() {
            let safe = is_safe(operation, &operations[at + 1..]);
            let there = safe
                || match unsynced {
                    Unsynced::None => false,
                    Unsynced::All | Unsynced::Zeros => true,
                    Unsynced::Some | Unsynced::Torn => choose.choose(2) == 1,
                };
            match operation {
                Operation::Write { file, offset, data } if there && !safe && unsynced == Unsynced::Torn => {
                    let sectors = data.len().div_ceil(SECTOR_BYTES) as u64;
                    let bytes = data.len().min(choose.choose(sectors + 1) as usize * SECTOR_BYTES);
                    let data = data[..bytes].to_vec();
                    disk.apply(&Operation::Write { file: *file, offset: *offset, data }, false);
                }
                _ if there => disk.apply(operation, !safe && unsynced == Unsynced::Zeros),
                _ => {}
            }
        }
        disk
    }

    fn apply(&mut self, operation: &Operation, zeros: bool) {
        match operation {
            Operation::Create { path, file } => drop(self.names.insert(path.clone(), Node::File(*file))),
            Operation::MakeDirectory { path } => drop(self.names.insert(path.clone(), Node::Directory)),
            Operation::Remove { path } => drop(self.names.remove(path)),
            Operation::Rename { from, to } => {
                if let Some(node) = self.names.remove(from) {
                    self.names.insert(to.clone(), node);
                }
            }
            Operation::Write { file, offset, data } => {
                let contents = self.contents.entry(*file).or_default();
                let (start, end) = (*offset as usize, *offset as usize + data.len());
                contents.resize(contents.len().max(end), 0);
                if !zeros {
                    contents[start..end].copy_from_slice(data);
                }
            }
            Operation::Truncate { file, bytes } => {
                self.contents.entry(*file).or_default().resize(*bytes as usize, 0);
            }
            Operation::SyncFile { .. } | Operation::SyncDirectory { .. } | Operation::Acknowledge { .. } => {}
        }
    }

    /// Creates the files below `from` in the directory `to`. Files in a directory without a name are lost.
    ///
    /// # Errors
    /// Errors of creating files.
    pub fn lay_out(&self, from: &Path, to: &Path) -> io::Result<()> {
        for (path, node) in &self.names {
            let Ok(inside) = path.strip_prefix(from) else { continue };
            let place = to.join(inside);
            if !place.parent().is_some_and(Path::is_dir) {
                continue;
            }
            match node {
                Node::Directory => fs::create_dir(place)?,
                Node::File(file) => fs::write(place, self.contents.get(file).map_or(&[][..], Vec::as_slice))?,
            }
        }
        Ok(())
    }
}

/// Whether one of the later operations wrote it to the disk.
fn is_safe(operation: &Operation, later: &[Operation]) -> bool {
    let synced_file = |file: u64| later.contains(&Operation::SyncFile { file });
    let synced_parent = |path: &Path| {
        let parent = path.parent().unwrap_or(Path::new("/"));
        later.iter().any(|later| matches!(later, Operation::SyncDirectory { path } if path == parent))
    };
    match operation {
        Operation::Write { file, .. } | Operation::Truncate { file, .. } => synced_file(*file),
        Operation::Create { path, .. } | Operation::MakeDirectory { path } | Operation::Remove { path } => {
            synced_parent(path)
        }
        Operation::Rename { from, to } => synced_parent(from) && synced_parent(to),
        Operation::SyncFile { .. } | Operation::SyncDirectory { .. } | Operation::Acknowledge { .. } => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn of(operations: Vec<Operation>) -> Recorded {
        operations.into()
    }

    fn names_of(directory: &str) -> Operation {
        Operation::SyncDirectory { path: directory.into() }
    }

    fn text(disk: &Disk) -> Option<String> {
        let to = tempfile::tempdir().unwrap();
        disk.lay_out(Path::new("/d"), to.path()).unwrap();
        fs::read_to_string(to.path().join("file")).ok()
    }

    #[test]
    fn synced_bytes_survive_and_others_may_be_missing() {
        let create = Operation::Create { path: "/d/file".into(), file: 1 };
        let write = |offset, data: &str| Operation::Write { file: 1, offset, data: data.into() };
        let (file, names) = (Operation::SyncFile { file: 1 }, names_of("/d"));
        let recorded = of(vec![create, write(0, "one"), file, names, write(3, "two")]);
        let after = |operations, unsynced| text(&Disk::after(&recorded, operations, unsynced, &mut Seed(1)));
        assert_eq!(after(2, Unsynced::None), None);
        assert_eq!(after(2, Unsynced::All).as_deref(), Some("one"));
        assert_eq!(after(2, Unsynced::Zeros).as_deref(), Some("\0\0\0"));
        assert_eq!(after(5, Unsynced::None).as_deref(), Some("one"));
        assert_eq!(after(5, Unsynced::Zeros).as_deref(), Some("one\0\0\0"));
        assert_eq!(after(5, Unsynced::All).as_deref(), Some("onetwo"));
        let long = of(vec![
            Operation::Create { path: "/d/file".into(), file: 1 },
            names_of("/d"),
            write(0, &"x".repeat(5 * SECTOR_BYTES)),
        ]);
        let mut seed = Seed(1);
        let torn: BTreeSet<Option<usize>> =
            (0..100).map(|_| text(&Disk::after(&long, 3, Unsynced::Torn, &mut seed)).map(|text| text.len())).collect();
        assert_eq!(torn, (0..=5).map(|sectors| Some(sectors * SECTOR_BYTES)).collect());
        // A file's own sync does not keep its name.
        assert_eq!(after(3, Unsynced::None), None);
    }
}
