//! Writes the contents of a result file as a run archive: under a temporary name first, so that an archive never exists
//! half-written.

use crate::archives::new_below;
use crate::exit::UsageError;
use anyhow::Context;
use archive::manifest::{Manifest, RunState};
use archive::writer::RunWriter;
use interchange::imports::archived::{imported_from, messages};
use interchange::imports::source::Source;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Location of an archive.
pub enum Place<'a> {
    /// This directory becomes the archive.
    Archive(&'a Path),
    /// A new directory in this one.
    Below(&'a Path),
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

/// Stores a source as an archive and returns its directory.
///
/// # Errors
/// If the place is taken or cannot be written; nothing is left behind then.
pub fn store(source: &Source, file: &Path, place: &Place) -> anyhow::Result<PathBuf> {
    let imported_unix_ns = unix_ns();
    let started_unix_ns = source.started_unix_ns.unwrap_or(imported_unix_ns);
    let host = source.environment.as_ref().map_or("", |environment| &environment.hostname);
    let (host, target) = if host.is_empty() { ("imported", "an unknown machine") } else { (host, host) };
    let started_unix_s = u64::try_from(started_unix_ns / 1_000_000_000).unwrap_or(0);
    let mut unfinished = Unfinished(Vec::new());
    let (directory, id) = match place {
        Place::Archive(directory) => (directory.to_path_buf(), crate::archives::run_id(started_unix_s, host)),
        Place::Below(parent) => {
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
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let manifest = Manifest {
        command: source.command.iter().cloned().collect(),
        started_unix_ns,
        imported: Some(imported_from(source, &file_name, imported_unix_ns)),
        ..Manifest::new(id, env!("CARGO_PKG_VERSION"), target)
    };
    let mut writer = RunWriter::create(&partial, manifest)?;
    for message in messages(source) {
        writer.append(&message)?;
    }
    writer.finish(RunState::Complete, None, source.ended_unix_ns.unwrap_or(started_unix_ns))?;
    // An existing empty directory is replaced in the same step.
    fs::rename(&partial, &directory)
        .with_context(|| format!("failed to move the archive to {}", directory.display()))?;
    unfinished.0.clear();
    Ok(directory)
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

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
