//! The journal: every change to the machine is on disk before it is made, and undone from there.
//!
//! One file per meter process, one JSON line per change, undone last first. A clean end deletes the file; after SIGKILL or
//! a power cut `tardy-meter restore` works it off. Kernel settings die with the kernel, so a journal of an earlier boot
//! holds nothing to undo but directories on disk.
//!
//! Changes that are to stay until the user wants them undone ([`crate::apply`]) have journals in a directory of their own,
//! which only `restore` works off: a run must not take them for what a killed run left.

mod entry;
mod place;
pub mod restore;
pub mod trace_leftovers;
mod undo_error;

pub use entry::{Entry, Header, chosen, read_setting, same_setting, write_setting};
pub use place::{applied_directory, journal_directory, state_directory};
pub use undo_error::UndoError;

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a change was not made, or not undone.
#[derive(Debug, Error)]
pub enum JournalError {
    #[error(
        "failed to write the journal {path}: {source}; nothing was changed. Make its directory writable or set TARDY_STATE_DIR"
    )]
    Journal { path: PathBuf, source: io::Error },
    #[error("failed to read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write {value:?} to {path}: {source}")]
    Write { path: PathBuf, value: String, source: io::Error },
}

/// The journal of this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: File,
    entries: Vec<Entry>,
}

impl Journal {
    /// Begins a journal in a directory, which is made when missing.
    ///
    /// # Errors
    /// [`JournalError::Journal`].
    pub fn begin(directory: &Path, header: &Header) -> Result<Self, JournalError> {
        // Journals of changes that are to stay outlive their process, whose number may come again.
        let path = directory.join(format!("{}-{}.jsonl", header.pid, header.started_ticks));
        let fail = |source| JournalError::Journal { path: path.clone(), source };
        fs::create_dir_all(directory).map_err(fail)?;
        let mut file = OpenOptions::new().create(true).write(true).truncate(true).open(&path).map_err(fail)?;
        let line = serde_json::to_string(header).expect("a header has only string keys");
        writeln!(file, "{line}").and_then(|()| file.sync_data()).map_err(fail)?;
        Ok(Self { path, file, entries: Vec::new() })
    }

    /// Writes down a change that is about to be made.
    ///
    /// # Errors
    /// [`JournalError::Journal`]; the change must then not be made.
    pub fn note(&mut self, entry: Entry) -> Result<(), JournalError> {
        let line = serde_json::to_string(&entry).expect("an entry has only string keys");
        writeln!(self.file, "{line}")
            .and_then(|()| self.file.sync_data())
            .map_err(|source| JournalError::Journal { path: self.path.clone(), source })?;
        self.entries.push(entry);
        Ok(())
    }

    /// Changes a kernel setting, journalled. Answers the value before.
    ///
    /// # Errors
    /// When it cannot be read, journalled or written; it is then unchanged.
    pub fn change_setting(&mut self, path: &Path, value: &str) -> Result<String, JournalError> {
        let before = read_setting(path).map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
        let before = before.trim_end().to_owned();
        self.note(Entry::Setting { path: path.to_owned(), before: before.clone(), after: value.to_owned() })?;
        write_setting(path, value).map_err(|source| JournalError::Write {
            path: path.to_owned(),
            value: value.to_owned(),
            source,
        })?;
        // The kernel may show it in another form; what differs from that later is another program's doing.
        let now = read_setting(path).map(|text| text.trim_end().to_owned());
        if let Some(now) = now.ok().filter(|now| *now != before && !same_setting(now, value)) {
            self.note(Entry::Setting { path: path.to_owned(), before: before.clone(), after: now })?;
        }
        Ok(before)
    }

    /// Undoes everything, last first, and removes the journal. Answers what could not be undone; the
    /// journal then stays for `tardy restore`.
    pub fn undo(self) -> Vec<UndoError> {
        let failures: Vec<UndoError> = self.entries.iter().rev().filter_map(|entry| entry.undo().err()).collect();
        if failures.is_empty() {
            let _ = fs::remove_file(&self.path);
        }
        failures
    }
}
