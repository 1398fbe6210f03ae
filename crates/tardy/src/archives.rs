//! Locations of archives: the directory of runs, new archives in it, and the archive that RUN names.

use crate::exit::UsageError;
use anyhow::Context;
use archive::atomic_file::write_atomically;
use archive::directory::{ArchiveDirectory, make_directories, read_inside, replace_inside};
use archive::layout::{MANIFEST, MANIFEST_BYTES_MAX, STREAM};
use archive::manifest::{Manifest, RunState};
use archive::reader::{OpenError, Run};
use archive::summary::RunSummary;
use archive::write_error::WriteError;
use runner::run::RECEIVED_FILE;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use words::calendar::civil;
use words::figures::counted;
use words::printable::printable;

/// Directory of archives below the current one.
pub const RUNS: &str = "runs";
/// Directories of a series below each other: those of rounds, of steps, of variants and of seeds.
const SERIES_DEPTH_MAX: usize = 4;
/// The word for the newest archive below [`RUNS`], or beside it.
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
            Err(UsageError(format!("{path} is not an archive and holds {count}; name one, like {last}")).into())
        }
        (opened, _) => Ok(opened?),
    }
}

/// Opens what RUN names, or the latest run if the command line names none.
///
/// # Errors
/// As [`open`].
pub fn open_or_latest(name: Option<&Path>) -> anyhow::Result<Run> {
    open(name.unwrap_or(Path::new(LATEST)))
}

/// The directory that RUN names. Does not check whether it holds an archive.
///
/// # Errors
/// If RUN is `latest` and there is no run.
pub fn find(name: &Path) -> Result<PathBuf, UsageError> {
    let path = if name == Path::new(LATEST) && !name.exists() {
        latest(Path::new(RUNS))?
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
        // An import in progress, or one that was killed, leaves a hidden directory.
        .filter(|path| !path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.')))
        .filter(|path| is_archive(path))
        .map(|path| (started_unix_ns(&path), path))
        .collect();
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// Whether a directory holds an archive, in any state.
pub fn is_archive(path: &Path) -> bool {
    ArchiveDirectory::open(path).is_ok_and(|inside| inside.has(MANIFEST) || inside.has(STREAM))
}

/// Writes a document to the path `asked`, or next to a run under this name. Returns its path.
///
/// # Errors
/// If the file cannot be written. `asked` may be a symbolic link; a file next to a run, which an untrusted party may
/// have created, is replaced.
pub fn write_document(asked: Option<&Path>, directory: &Path, name: &str, bytes: &[u8]) -> anyhow::Result<PathBuf> {
    match asked {
        Some(path) => write_atomically(path, bytes)?,
        None => replace_inside(directory, name, bytes)?,
    }
    Ok(asked.map_or_else(|| directory.join(name), Path::to_owned))
}

/// The name of standard output where a file is asked for.
pub const STDOUT: &str = "-";

/// Whether `tardy target collect` can fetch the rest of a run.
pub fn has_rest(archive: &Path) -> bool {
    ArchiveDirectory::open(archive).is_ok_and(|inside| inside.file(RECEIVED_FILE).is_ok())
}

/// Every archive below a directory and below its series (plans, experiments, seeds), oldest first.
pub fn all_below(directory: &Path) -> Vec<PathBuf> {
    let mut found = archives_within(directory, SERIES_DEPTH_MAX);
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

/// Every archive below a directory and its series, oldest first; for [`RUNS`] also the archives that `--out` put beside it.
pub fn in_reach(directory: &Path) -> Vec<PathBuf> {
    if directory != Path::new(RUNS) {
        return all_below(directory);
    }
    let beside = below(Path::new(".")).into_iter().filter_map(|path| Some(path.strip_prefix(".").ok()?.to_owned()));
    let mut found = archives_within(directory, SERIES_DEPTH_MAX);
    found.extend(beside.map(|path| (started_unix_ns(&path), path)));
    found.sort();
    found.into_iter().map(|(_, path)| path).collect()
}

fn archives_within(directory: &Path, depth: usize) -> Vec<(i64, PathBuf)> {
    let mut found: Vec<(i64, PathBuf)> =
        below(directory).into_iter().map(|path| (started_unix_ns(&path), path)).collect();
    if depth == 0 {
        return found;
    }
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        // A symbolic link could point to a parent directory.
        let is_series = entry.file_type().is_ok_and(|kind| kind.is_dir()) && !name.to_string_lossy().starts_with('.');
        if is_series && !found.iter().any(|(_, archive)| *archive == path) {
            found.extend(archives_within(&path, depth - 1));
        }
    }
    found
}

/// The newest run with measurements. Reports on standard error which run it is and how many runs were skipped.
///
/// # Errors
/// If the run does not exist.
pub fn latest(directory: &Path) -> Result<PathBuf, UsageError> {
    let mut archives = in_reach(directory);
    let count = archives.len();
    while archives.last().is_some_and(|path| measured_nothing(path)) {
        archives.pop();
    }
    let passed_over = count - archives.len();
    let Some(path) = archives.pop() else {
        let failed = if count == 0 { String::new() } else { format!(" that measured anything ({count} did not)") };
        let text = format!("failed to find the latest run: there is no run below {}/{failed}", directory.display());
        return Err(UsageError(text));
    };
    let over = match passed_over {
        0 => String::new(),
        number => format!("; passed over {} that measured nothing", counted(number as u64, "newer run")),
    };
    complain!("tardy: latest is {}{over}", printable(&path.display().to_string()));
    Ok(path)
}

/// Whether a run failed for good, or ended without a figure, as the watch of a program that never waited: a run whose rest
/// `tardy target collect` can still fetch may turn out complete.
fn measured_nothing(path: &Path) -> bool {
    let Some(Manifest { state, .. }) = manifest(path) else { return false };
    let ended = matches!(state, RunState::Complete | RunState::Interrupted);
    (state == RunState::Failed || ended && has_no_figures(path)) && !has_rest(path)
}

fn has_no_figures(path: &Path) -> bool {
    let Ok(run) = Run::open(path) else { return false };
    let summary = RunSummary::of(&run, &[]);
    let measured = summary.cpus.iter().any(|cpu| cpu.cycles > 0) || !summary.spikes.is_empty();
    let found = !summary.kernel_series.is_empty() || !summary.latency_traces.is_empty();
    let audited = summary.settings.is_some_and(|settings| settings.audit.is_some());
    !(measured || found || audited)
}

fn manifest(path: &Path) -> Option<Manifest> {
    serde_json::from_slice(&read_inside(path, MANIFEST, MANIFEST_BYTES_MAX).ok()?).ok()
}

/// The manifest's start; archives whose manifest is damaged count as the oldest.
fn started_unix_ns(path: &Path) -> i64 {
    manifest(path).map_or(i64::MIN, |manifest| manifest.started_unix_ns)
}

/// Creates a directory for a new archive: `asked`, or `runs/<id>`. Returns it with the run's id.
///
/// # Errors
/// If it cannot be created, or exists and is not empty.
pub fn make_new(asked: Option<&Path>, started_unix_s: u64, hostname: &str) -> anyhow::Result<(PathBuf, String)> {
    let id = run_id(started_unix_s, hostname);
    if let Some(path) = asked {
        // Checked before a machine is started for the run.
        if path.is_file() || fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some()) {
            return Err(WriteError::Exists(path.to_owned()).into());
        }
        return Ok((path.to_owned(), id));
    }
    new_below(Path::new(RUNS), started_unix_s, hostname)
}

/// Creates a directory `<id>` in `runs`. Returns it with the run's id.
///
/// # Errors
/// If it cannot be created.
pub fn new_below(runs: &Path, started_unix_s: u64, hostname: &str) -> anyhow::Result<(PathBuf, String)> {
    let id = run_id(started_unix_s, hostname);
    let fix = || format!("failed to make a directory below {}; choose a place with --out", runs.display());
    make_directories(runs).with_context(fix)?;
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

/// Name of a run: start time and host.
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
