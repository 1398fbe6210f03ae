//! Writes what another tool measured as a run archive: under a temporary name first, so that an archive never exists
//! half-written.

use crate::archives::new_below;
use crate::exit::UsageError;
use anyhow::Context;
use archive::frame::Item;
use archive::layout::FileKind;
use archive::manifest::{ImportedFrom, Manifest, RunState};
use archive::message::Message;
use archive::writer::RunWriter;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Location of an archive.
#[derive(Debug)]
pub enum Location<'a> {
    /// This directory becomes the archive.
    Archive(&'a Path),
    /// A new directory in this one.
    Below(&'a Path),
}

impl Location<'_> {
    /// The directory in which the archive will be.
    pub fn parent(&self) -> &Path {
        match self {
            Self::Archive(path) => {
                path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
            }
            Self::Below(parent) => parent,
        }
    }
}

/// Removes what was written unless it is kept.
struct Unfinished(Vec<PathBuf>);

impl Drop for Unfinished {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = fs::remove_dir_all(path);
        }
    }
}

/// A measurement or recording of another tool, as an archive before it has a place.
#[derive(Debug)]
pub struct Foreign {
    /// Empty if unknown.
    pub hostname: String,
    pub command: Vec<String>,
    pub started_unix_ns: Option<i64>,
    pub ended_unix_ns: Option<i64>,
    pub imported: ImportedFrom,
    pub messages: Vec<Message>,
    /// Traces and texts that belong to the messages.
    pub files: Vec<(FileKind, Vec<u8>)>,
}

/// Stores an archive and returns its directory.
///
/// # Errors
/// If the place is taken or cannot be written; nothing is left behind then.
pub fn store(foreign: Foreign, place: &Location) -> anyhow::Result<PathBuf> {
    let started_unix_ns = foreign.started_unix_ns.unwrap_or(foreign.imported.imported_unix_ns);
    let host = foreign.hostname.as_str();
    let (host, target) = if host.is_empty() { ("imported", "an unknown machine") } else { (host, host) };
    let started_unix_s = u64::try_from(started_unix_ns / 1_000_000_000).unwrap_or(0);
    let mut unfinished = Unfinished(Vec::new());
    let (directory, id) = match place {
        Location::Archive(directory) => (directory.to_path_buf(), crate::archives::run_id(started_unix_s, host)),
        Location::Below(parent) => {
            let (directory, id) = new_below(parent, started_unix_s, host)?;
            unfinished.0.push(directory.clone());
            (directory, id)
        }
    };
    if fs::symlink_metadata(&directory).is_ok() && !is_empty_directory(&directory) {
        let text =
            format!("failed to create the archive: {} exists already; choose another --out", directory.display());
        return Err(UsageError(text).into());
    }
    let partial = beside(&directory)?;
    unfinished.0.push(partial.clone());
    let ended_unix_ns = foreign.ended_unix_ns.unwrap_or(started_unix_ns);
    let manifest = Manifest {
        command: foreign.command,
        started_unix_ns,
        imported: Some(foreign.imported),
        ..Manifest::new(id, env!("CARGO_PKG_VERSION"), target)
    };
    let mut writer = RunWriter::create(&partial, manifest)?;
    for message in foreign.messages {
        writer.append(&message)?;
    }
    for (number, (kind, bytes)) in (1..).zip(foreign.files) {
        store_file(&mut writer, number, kind, bytes)?;
    }
    writer.finish(RunState::Complete, None, ended_unix_ns)?;
    // An existing empty directory is replaced in the same step.
    fs::rename(&partial, &directory)
        .with_context(|| format!("failed to move the archive to {}", directory.display()))?;
    unfinished.0.clear();
    Ok(directory)
}

fn store_file(writer: &mut RunWriter, file: u32, kind: FileKind, data: Vec<u8>) -> anyhow::Result<()> {
    let bytes = data.len() as u64;
    let begin = Item::Message(Message::FileBegin { file, kind });
    let end = Item::Message(Message::FileEnd { file, bytes });
    for item in [begin, Item::Chunk { file, offset: 0, data }, end] {
        writer.store(&item)?;
    }
    Ok(())
}

fn is_empty_directory(path: &Path) -> bool {
    fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_none())
}

/// A new directory on the same file system, hidden from `tardy list`.
fn beside(directory: &Path) -> anyhow::Result<PathBuf> {
    let parent = directory.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let fix = || format!("failed to make a directory in {}; choose a place with --out", parent.display());
    fs::create_dir_all(parent).with_context(fix)?;
    let mut name = std::ffi::OsString::from(".");
    name.push(directory.file_name().context("failed to name the archive; give --out a name")?);
    name.push(format!(".{}.partial", std::process::id()));
    Ok(parent.join(name))
}

/// The wall clock, in ns since 1970.
pub fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
