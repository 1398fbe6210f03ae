//! Reads and writes single files of tracefs, with errors that name the operation.

use std::fs::{self, File, OpenOptions};
use std::io::{Read as _, Write as _};
use std::path::Path;

use super::TracefsError;
use super::error::Action;

pub(super) fn read(path: &Path) -> Result<String, TracefsError> {
    let bytes = read_bytes(path).map_err(|source| TracefsError::from_io(Action::Read, path, source))?;
    // Thread names are arbitrary bytes.
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// `events/header_page` returns its text on the first read only, however small that read is; `std::fs::read` starts
/// with 32 bytes and would lose the rest. The kernel returns a page at a time at most, and a larger buffer costs a run that
/// looks at these files time.
fn read_bytes(path: &Path) -> std::io::Result<Vec<u8>> {
    const READ_SIZE: usize = 4 << 10;
    let mut file = File::open(path)?;
    let mut bytes = Vec::new();
    loop {
        let filled = bytes.len();
        bytes.resize(filled + READ_SIZE, 0);
        let read = file.read(&mut bytes[filled..]);
        bytes.truncate(filled + read.as_ref().map_or(0, |&count| count));
        match read {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// The text without surrounding whitespace; `None` if the file does not exist or cannot be read.
pub(super) fn read_trimmed(path: &Path) -> Option<String> {
    read(path).ok().map(|text| text.trim().to_owned())
}

/// Replaces the content of the file. Opening with truncation clears lists such as `set_event_notrace_pid`.
pub(super) fn write(path: &Path, text: &str) -> Result<(), TracefsError> {
    write_with(path, text, OpenOptions::new().write(true).truncate(true))
}

/// Adds to the content of the file: truncating a `trigger` file would remove all its triggers.
pub(super) fn append(path: &Path, text: &str) -> Result<(), TracefsError> {
    write_with(path, text, OpenOptions::new().append(true))
}

fn write_with(path: &Path, text: &str, options: &OpenOptions) -> Result<(), TracefsError> {
    let mut file = options.open(path).map_err(|source| TracefsError::from_io(Action::Write, path, source))?;
    file.write_all(text.as_bytes()).map_err(|source| match source.kind() {
        std::io::ErrorKind::InvalidInput => {
            TracefsError::Rejected { path: path.to_owned(), text: text.to_owned(), reason: reason(path) }
        }
        _ => TracefsError::from_io(Action::Write, path, source),
    })
}

pub(super) fn open_for_writing(path: &Path) -> Result<File, TracefsError> {
    OpenOptions::new().write(true).open(path).map_err(|source| TracefsError::from_io(Action::Open, path, source))
}

pub(super) fn create_folder(path: &Path) -> Result<(), TracefsError> {
    fs::create_dir(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::AlreadyExists => TracefsError::InstanceExists { path: path.to_owned() },
        _ => TracefsError::from_io(Action::Create, path, source),
    })
}

pub(super) fn remove_folder(path: &Path) -> Result<(), TracefsError> {
    fs::remove_dir(path).map_err(|source| TracefsError::from_io(Action::Remove, path, source))
}

/// Names of the subdirectories of a directory, sorted; empty if it cannot be listed.
pub(super) fn folder_names(path: &Path) -> Vec<String> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    names.sort();
    names
}

/// The kernel's last message in the `error_log` of the same buffer, as `: reason`.
fn reason(path: &Path) -> String {
    let log = path.ancestors().skip(1).take(4).find_map(|folder| read(&folder.join("error_log")).ok());
    let last = log.as_deref().and_then(|log| log.lines().rev().find_map(|line| line.split_once("error: ")));
    last.map(|(_, reason)| format!(": {}", reason.trim())).unwrap_or_default()
}
