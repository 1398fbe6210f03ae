//! Where archives lie: the directory of the runs, a new one in it, and the one that RUN names.

pub mod explaining;
pub mod judging;

use crate::exit::UsageError;
use anyhow::Context;
use archive::manifest::Manifest;
use archive::reader::{OpenError, Run};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use words::calendar::civil;
use words::figures::counted;

/// Directory of archives below the current one.
pub const RUNS: &str = "runs";
/// The word for the newest archive below [`RUNS`].
pub const LATEST: &str = "latest";

/// Opens what RUN names: an archive's path, an id below `runs/`, or `latest`.
///
/// # Errors
/// When there is no such archive.
pub fn open(name: &Path) -> anyhow::Result<Run> {
    let path = find(name)?;
    match (Run::open(&path), below(&path).as_slice()) {
        // The directory of a plan, or of seeds.
        (Err(OpenError::Foreign(_)), archives @ [.., last]) => {
            let (path, last) = (path.display(), last.display());
            let count = counted(archives.len() as u64, "archive");
            Err(UsageError(format!("{path} is no archive and holds {count}; name one, like {last}")).into())
        }
        (opened, _) => Ok(opened?),
    }
}

/// The directory that RUN names; whether it holds an archive is not looked at.
///
/// # Errors
/// When it is the latest one's, and there is none.
pub fn find(name: &Path) -> Result<PathBuf, UsageError> {
    let path = if name == Path::new(LATEST) && !name.exists() {
        newest(Path::new(RUNS))
            .ok_or_else(|| UsageError("failed to find the latest run: there is no run below runs/".into()))?
    } else if !name.exists() && Path::new(RUNS).join(name).is_dir() {
        Path::new(RUNS).join(name)
    } else {
        name.to_owned()
    };
    Ok(path)
}

/// Every archive below a directory, oldest first.
pub fn below(directory: &Path) -> Vec<PathBuf> {
    let mut found: Vec<(i64, PathBuf)> = fs::read_dir(directory)
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path()))
        // A hidden one is being written by an import, or was when that was killed.
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .filter(|path| path.join("manifest.json").exists() || path.join("stream.tardy").exists())
        .map(|path| (started_unix_ns(&path), path))
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn newest(directory: &Path) -> Option<PathBuf> {
    below(directory).pop()
}

/// The manifest's start; archives whose manifest is damaged count as the oldest.
fn started_unix_ns(path: &Path) -> i64 {
    let manifest = fs::read(path.join("manifest.json")).ok();
    let manifest = manifest.and_then(|bytes| serde_json::from_slice::<Manifest>(&bytes).ok());
    manifest.map_or(i64::MIN, |manifest| manifest.started_unix_ns)
}

/// Makes a directory for a new archive: the one asked for, or `runs/<id>`. Returns it with the run's id.
///
/// # Errors
/// When it cannot be made. One that exists is left to the archive writer, which refuses all but an empty one.
pub fn make_new(asked: Option<&Path>, started_unix_s: u64, hostname: &str) -> anyhow::Result<(PathBuf, String)> {
    let id = run_id(started_unix_s, hostname);
    if let Some(path) = asked {
        return Ok((path.to_owned(), id));
    }
    new_below(Path::new(RUNS), started_unix_s, hostname)
}

/// Makes a directory `<id>` in another. Returns it with the run's id.
///
/// # Errors
/// When it cannot be made.
pub fn new_below(runs: &Path, started_unix_s: u64, hostname: &str) -> anyhow::Result<(PathBuf, String)> {
    let id = run_id(started_unix_s, hostname);
    let fix = || format!("failed to make a directory below {}; choose a place with --out", runs.display());
    fs::create_dir_all(runs).with_context(fix)?;
    let mut unique = id.clone();
    for number in 2.. {
        match fs::create_dir(runs.join(&unique)) {
            Ok(()) => break,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => unique = format!("{id}-{number}"),
            Err(error) => return Err(error).with_context(fix),
        }
    }
    Ok((runs.join(&unique), unique))
}

/// The name of a run: when, and on what.
pub fn run_id(unix_s: u64, hostname: &str) -> String {
    let host: String = hostname
        .chars()
        .map(|letter| if letter.is_ascii_alphanumeric() || "-_.".contains(letter) { letter } else { '-' })
        .collect();
    let (day, time) = civil(unix_s);
    format!("{day}T{}-{}", time.replace(':', "-"), host.trim_matches(['.', '-']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_name_the_second_and_the_host() {
        assert_eq!(run_id(1_795_296_605, "pi 4"), "2026-11-21T21-30-05-pi-4");
        assert_eq!(run_id(0, "../x"), "1970-01-01T00-00-00-x");
    }
}
