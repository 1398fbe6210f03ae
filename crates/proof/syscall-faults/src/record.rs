//! The changes made by a program's calls, by file rather than by descriptor.

use crate::call::Call;
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// One change, which a power cut may remove unless a later [`Operation::SyncFile`] or [`Operation::SyncDirectory`]
/// covers it. Files have numbers, because a name may change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operation {
    /// A name for a new file.
    Create {
        path: PathBuf,
        file: u64,
    },
    Write {
        file: u64,
        offset: u64,
        data: Vec<u8>,
    },
    Truncate {
        file: u64,
        bytes: u64,
    },
    MakeDirectory {
        path: PathBuf,
    },
    Remove {
        path: PathBuf,
    },
    Rename {
        from: PathBuf,
        to: PathBuf,
    },
    SyncFile {
        file: u64,
    },
    SyncDirectory {
        path: PathBuf,
    },
    /// A word that the program wrote to its file of acknowledgements.
    Acknowledge {
        text: String,
    },
}

/// The changes of a program, in order.
#[derive(Debug, Clone, Default)]
pub struct Recorded {
    pub operations: Vec<Operation>,
    /// Files by their current names.
    names: HashMap<PathBuf, u64>,
    /// Files by inode number, which is reused after a file is removed.
    numbers: HashMap<u64, u64>,
}

/// Writes to a file with this name are not data, but acknowledgements of the program.
pub const ACKNOWLEDGEMENTS: &str = "acknowledged";

impl Recorded {
    pub(crate) fn add(&mut self, tid: i32, call: &Call, result: i64) {
        let operation = match call {
            Call::Open { path } => {
                let Some(file) = regular(tid, result as i32) else { return };
                let known = self.names.get(path).is_some_and(|known| self.numbers.get(&file) == Some(known));
                if is_acknowledgements(path) || known {
                    return;
                }
                let new = self.operations.len() as u64;
                self.numbers.insert(file, new);
                self.names.insert(path.clone(), new);
                Operation::Create { path: path.clone(), file: new }
            }
            Call::Write { path, descriptor, data, offset } => {
                let data = data[..result as usize].to_vec();
                if is_acknowledgements(path) {
                    Operation::Acknowledge { text: String::from_utf8_lossy(&data).into_owned() }
                } else {
                    let Some(file) = self.file(tid, *descriptor) else { return };
                    let offset = offset.unwrap_or_else(|| position(tid, *descriptor).saturating_sub(result as u64));
                    Operation::Write { file, offset, data }
                }
            }
            Call::Sync { path, descriptor } => match self.file(tid, *descriptor) {
                Some(file) => Operation::SyncFile { file },
                None => Operation::SyncDirectory { path: path.clone() },
            },
            Call::Truncate { descriptor, bytes, .. } => {
                let Some(file) = self.file(tid, *descriptor) else { return };
                Operation::Truncate { file, bytes: *bytes }
            }
            Call::MakeDirectory { path } => Operation::MakeDirectory { path: path.clone() },
            Call::Remove { path } => {
                self.names.remove(path);
                Operation::Remove { path: path.clone() }
            }
            Call::Rename { from, to } => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
                Operation::Rename { from: from.clone(), to: to.clone() }
            }
            Call::Other { .. } => return,
        };
        self.operations.push(operation);
    }

    fn file(&self, tid: i32, descriptor: i32) -> Option<u64> {
        self.numbers.get(&regular(tid, descriptor)?).copied()
    }
}

impl From<Vec<Operation>> for Recorded {
    fn from(operations: Vec<Operation>) -> Self {
        Self { operations, ..Self::default() }
    }
}

fn is_acknowledgements(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name == ACKNOWLEDGEMENTS)
}

/// The number of the file behind a descriptor, if it is a regular one.
fn regular(tid: i32, descriptor: i32) -> Option<u64> {
    let found = fs::metadata(format!("/proc/{tid}/fd/{descriptor}")).ok()?;
    found.is_file().then(|| found.ino())
}

/// File offset of the next write to the descriptor.
fn position(tid: i32, descriptor: i32) -> u64 {
    let text = fs::read_to_string(format!("/proc/{tid}/fdinfo/{descriptor}")).unwrap_or_default();
    let position = text.lines().find_map(|line| line.strip_prefix("pos:"));
    position.and_then(|position| position.trim().parse().ok()).unwrap_or(0)
}
