//! The journal: every change to the machine is on disk before it is made, and undone from there.
//!
//! One file per meter process, one JSON line per change, undone last first. A clean end deletes the file; after SIGKILL
//! `tardy-meter restore` works it off. Kernel settings die with the kernel, so a journal of an earlier boot holds nothing to
//! undo. [`directory`] trusts only what the effective user alone can write, and [`setting_roots`] says what may be undone.
//!
//! Changes that are to stay until the user wants them undone ([`crate::apply`]) have journals in a directory of their own,
//! which only `restore` works off: a run must not take them for what a killed run left.

mod directory;
mod entry;
mod place;
pub mod restore;
mod setting_roots;
pub mod trace_leftovers;
mod undo;
mod undo_error;

pub use entry::{Entry, Header, chosen, read_setting, same_setting, write_setting};
pub use place::{applied_directory, journal_directory, state_directory};
pub use setting_roots::SettingRoots;
pub use undo_error::UndoError;

use directory::{JournalDirectory, Untrusted};
use std::fs::File;
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
    #[error(
        "the directory of journals {path} cannot be trusted: {source}; nothing was changed. Give it to this user alone, or set TARDY_STATE_DIR"
    )]
    Directory { path: PathBuf, source: Untrusted },
    #[error("failed to read {path}: {source}")]
    Read { path: PathBuf, source: io::Error },
    #[error("failed to write {value:?} to {path}: {source}")]
    Write { path: PathBuf, value: String, source: io::Error },
}

/// The journal of this process.
#[derive(Debug)]
pub struct Journal {
    directory: JournalDirectory,
    name: String,
    file: File,
    entries: Vec<Entry>,
    roots: SettingRoots,
}

impl Journal {
    /// Starts a journal in a directory, which is made when missing.
    ///
    /// # Errors
    /// [`JournalError::Journal`] and [`JournalError::Directory`].
    pub fn begin(directory: &Path, header: &Header) -> Result<Self, JournalError> {
        Self::begin_for(SettingRoots::of_kernel(), directory, header)
    }

    /// The same for settings elsewhere than the kernel has them.
    pub(crate) fn begin_for(roots: SettingRoots, directory: &Path, header: &Header) -> Result<Self, JournalError> {
        // Journals of changes that are to stay outlive their process, whose number may come again.
        let name = format!("{}-{}.jsonl", header.pid, header.started_ticks);
        let path = directory.join(&name);
        let fail = |source| JournalError::Journal { path: path.clone(), source };
        let directory = JournalDirectory::make(directory).map_err(|source| match source {
            Untrusted::Io(source) => fail(source),
            source => JournalError::Directory { path: directory.to_owned(), source },
        })?;
        let mut file = directory.create(&name).map_err(fail)?;
        let line = serde_json::to_string(header).expect("a header has only string keys");
        writeln!(file, "{line}").and_then(|()| file.sync_data()).map_err(fail)?;
        Ok(Self { directory, name, file, entries: Vec::new(), roots })
    }

    /// Writes down a change that is about to be made.
    ///
    /// # Errors
    /// [`JournalError::Journal`]; the change must then not be made.
    pub fn note(&mut self, entry: Entry) -> Result<(), JournalError> {
        let line = serde_json::to_string(&entry).expect("an entry has only string keys");
        writeln!(self.file, "{line}")
            .and_then(|()| self.file.sync_data())
            .map_err(|source| JournalError::Journal { path: self.directory.path_of(&self.name), source })?;
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
        let setting = |after: String, intended: bool| {
            let (path, before) = (path.to_owned(), before.clone());
            Entry::Setting { path, before, after, intended }
        };
        self.note(setting(value.to_owned(), true))?;
        let written = write_setting(path, value);
        // The kernel may show it in another form; what differs from that later is another program's doing. What was
        // refused is not undone.
        let after = match &written {
            Ok(()) => read_setting(path).map_or_else(|_| value.to_owned(), |text| text.trim_end().to_owned()),
            Err(_) => before.clone(),
        };
        self.note(setting(after, false))?;
        written.map_err(|source| JournalError::Write { path: path.to_owned(), value: value.to_owned(), source })?;
        Ok(before)
    }

    /// Undoes everything, last first, and removes the journal. Answers what could not be undone; the
    /// journal then stays for `tardy restore`.
    pub fn undo(self) -> Vec<UndoError> {
        self.undo_reporting(&mut |_| ())
    }

    /// The same; `slow` hears of each step that takes long.
    pub fn undo_reporting(self, slow: &mut dyn FnMut(&Entry)) -> Vec<UndoError> {
        let Self { directory, name, entries, roots, .. } = self;
        let undone = undo::undo_all(entry::settled(entries), &roots, undo::PATIENCE, slow);
        let failures: Vec<UndoError> = undone.into_iter().filter_map(|(_, result)| result.err()).collect();
        if failures.is_empty() {
            let _ = directory.remove(&name);
        }
        failures
    }
}
