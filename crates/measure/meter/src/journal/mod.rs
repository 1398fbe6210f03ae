//! The journal: every change to the machine is on disk before it is made, and is undone from there.
//!
//! One file per meter process, one JSON line per change, undone last first. A clean end deletes the file; after SIGKILL
//! `tardy-meter restore` undoes it. Kernel settings are lost when the kernel goes down, so a journal of an earlier boot
//! has nothing to undo. [`directory`] trusts only what the effective user alone can write, and [`setting_roots`] lists
//! what may be undone.
//!
//! Changes that stay until the user reverts them ([`crate::apply`]) have journals in a separate directory, which only
//! `restore` processes: a run must not take them for the remains of a killed run. Changes of a [`setup`] have a third one,
//! because they are meant to outlive every measurement.

mod announcement;
mod directory;
mod entry;
pub mod measured_file;
pub mod pci_driver;
mod place;
pub mod restore;
mod setting_roots;
pub mod setup;
pub mod trace_leftovers;
mod undo;
mod undo_error;

pub use entry::{Entry, Header, read_setting, write_setting};
pub use place::{applied_directory, journal_directory, setup_directory, state_directory};
pub use setting_roots::SettingRoots;
pub use undo_error::UndoError;

use crate::compact;
use announcement::Announcement;
use archive::settings::chosen;
use directory::{JournalDirectory, Untrusted};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why a change was not made or not undone.
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
    #[error("{path} is held by a measurement (process {pid}); nothing was changed")]
    Held { path: PathBuf, pid: i32 },
}

/// Suffix of a journal that has no first line yet.
const BEGUN: &str = ".begun";

/// The journal of this process.
#[derive(Debug)]
pub struct Journal {
    directory: JournalDirectory,
    name: String,
    file: File,
    /// Bytes of whole lines in the file.
    bytes: u64,
    /// The last write failed, perhaps halfway.
    failed: bool,
    entries: Vec<Entry>,
    roots: SettingRoots,
    /// Directory of the journals of runs, which hold the settings that they changed.
    runs: PathBuf,
    _announcement: Option<Announcement>,
}

impl Journal {
    /// Starts a journal in a directory, which is created if missing.
    ///
    /// # Errors
    /// [`JournalError::Journal`] and [`JournalError::Directory`].
    pub fn begin(directory: &Path, header: &Header) -> Result<Self, JournalError> {
        Self::begin_for(SettingRoots::of_kernel(), directory, header)
    }

    /// The same for settings below other roots than the kernel's.
    pub(crate) fn begin_for(roots: SettingRoots, directory: &Path, header: &Header) -> Result<Self, JournalError> {
        // Journals of permanent changes outlive their process, whose number may be reused.
        let name = format!("{}-{}.jsonl", header.pid, header.started_ticks);
        let path = directory.join(&name);
        let runs = directory.to_owned();
        let fail = |source| JournalError::Journal { path: path.clone(), source };
        let directory = JournalDirectory::make(directory).map_err(|source| match source {
            Untrusted::Io(source) => fail(source),
            source => JournalError::Directory { path: directory.to_owned(), source },
        })?;
        // It gets its name with its first line: a file without that line would not be a journal, and its owner would be
        // unknown.
        let begun = format!("{name}{BEGUN}");
        let file = directory.create(&begun).map_err(fail)?;
        let line = serde_json::to_string(header).expect("a header has only string keys");
        let mut journal = Self {
            directory,
            name,
            file,
            bytes: 0,
            failed: false,
            entries: Vec::new(),
            roots,
            runs,
            _announcement: None,
        };
        journal.append(line).and_then(|()| journal.directory.rename(&begun, &journal.name)).map_err(fail)?;
        Ok(journal)
    }

    /// The same journal for changes outside of runs: settings held by the runs in this directory are not changed.
    pub fn beside_runs_in(self, runs: &Path) -> Self {
        Self { runs: runs.to_owned(), ..self }
    }

    /// The same journal of a run, known to meters with another directory of journals: they do not change what it holds.
    pub fn announced(self) -> Self {
        Self { _announcement: Announcement::of(&self.runs), ..self }
    }

    /// Values of the settings changed by this journal's process, by path.
    pub fn settings(&self) -> BTreeMap<PathBuf, String> {
        let settled = entry::settled(self.entries.clone()).into_iter();
        let changed = settled.filter_map(|entry| match entry {
            Entry::Setting { path, before, after, .. } if before != after => Some((path, after)),
            _ => None,
        });
        compact::inserted(changed)
    }

    /// Adds a line. The remains of a failed write would corrupt it, so they are cut off first.
    fn append(&mut self, mut line: String) -> io::Result<()> {
        line.push('\n');
        if std::mem::replace(&mut self.failed, true) {
            self.file.set_len(self.bytes)?;
            self.file.seek(SeekFrom::Start(self.bytes))?;
        }
        self.file.write_all(line.as_bytes())?;
        self.file.sync_data()?;
        self.bytes += line.len() as u64;
        self.failed = false;
        Ok(())
    }

    /// Records a change that is about to be made.
    ///
    /// # Errors
    /// [`JournalError::Journal`]; the change must then not be made.
    pub fn note(&mut self, entry: Entry) -> Result<(), JournalError> {
        let line = serde_json::to_string(&entry).expect("an entry has only string keys");
        self.append(line)
            .map_err(|source| JournalError::Journal { path: self.directory.path_of(&self.name), source })?;
        self.entries.push(entry);
        Ok(())
    }

    /// Changes a kernel setting, journalled. Returns its previous value.
    ///
    /// # Errors
    /// If it cannot be read, journalled or written, or if another run holds it; it is then unchanged.
    pub fn change_setting(&mut self, path: &Path, value: &str) -> Result<String, JournalError> {
        // Held until the change is recorded: of two processes that change the same setting, one sees the other.
        let _turn = JournalDirectory::make(&self.runs).ok().map(JournalDirectory::take_turn);
        if let Some(pid) = restore::holder(&self.runs, &self.name, path) {
            return Err(JournalError::Held { path: path.to_owned(), pid });
        }
        let before = read_setting(path).map_err(|source| JournalError::Read { path: path.to_owned(), source })?;
        let before = before.trim_end().to_owned();
        let setting = |after: String, intended: bool| {
            let (path, before) = (path.to_owned(), before.clone());
            Entry::Setting { path, before, after, intended }
        };
        self.note(setting(value.to_owned(), true))?;
        let written = write_setting(path, value);
        // The kernel may show it in another form; a later value that differs from that form is from another program. A
        // failed write may have had an effect, too.
        let unread = if written.is_ok() { value } else { &before };
        let after = read_setting(path).map_or_else(|_| unread.to_owned(), |text| text.trim_end().to_owned());
        if written.is_err() && after != before {
            let _ = write_setting(path, chosen(&before));
        }
        self.note(setting(after, false)).inspect_err(|_| {
            // A change that could not be undone later is undone now; the intention stays in the journal.
            let _ = write_setting(path, chosen(&before));
        })?;
        written.map_err(|source| JournalError::Write { path: path.to_owned(), value: value.to_owned(), source })?;
        Ok(before)
    }

    /// Undoes everything, last first, and removes the journal. Returns what could not be undone; the journal then stays
    /// for `tardy target restore`.
    pub fn undo(self) -> Vec<UndoError> {
        self.undo_reporting(&mut |_| ())
    }

    /// The same; calls `slow` for each step that takes long.
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
