//! Writes what a result file says as a run archive: beside its final name first, so that nothing is ever half there.

use crate::cli::archives::new_below;
use crate::cli::exit::UsageError;
use crate::formats::account::{self, Accounted};
use crate::formats::source::{Source, Unit};
use anyhow::Context;
use archive::manifest::{ImportedFrom, Manifest, RunState};
use archive::message::{Ending, Message, Problem, RunPhase, Severity};
use archive::writer::RunWriter;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Where an archive is to lie.
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
/// When the place is taken or cannot be written; nothing is left behind then.
pub fn store(source: &Source, file: &Path, place: &Place) -> anyhow::Result<PathBuf> {
    let imported_unix_ns = unix_ns();
    let started_unix_ns = source.started_unix_ns.unwrap_or(imported_unix_ns);
    let host = source.environment.as_ref().map_or("", |environment| &environment.hostname);
    let (host, target) = if host.is_empty() { ("imported", "an unknown machine") } else { (host, host) };
    let started_unix_s = u64::try_from(started_unix_ns / 1_000_000_000).unwrap_or(0);
    let mut unfinished = Unfinished(Vec::new());
    let (directory, id) = match place {
        Place::Archive(directory) => (directory.to_path_buf(), super::super::archives::run_id(started_unix_s, host)),
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
    let manifest = Manifest {
        archive_version: archive::ARCHIVE_VERSION,
        id,
        tool_version: env!("CARGO_PKG_VERSION").into(),
        command: source.command.iter().cloned().collect(),
        target: target.into(),
        emulated: false,
        virtual_time: false,
        ingredients: Default::default(),
        started_unix_ns,
        ended_unix_ns: None,
        state: RunState::Running,
        problem: None,
        settings: None,
        imported: Some(imported_from(source, file, imported_unix_ns)),
    };
    let mut writer = RunWriter::create(&partial, manifest)?;
    for message in messages(source) {
        writer.append(&message)?;
    }
    writer.finish(RunState::Complete, None, source.ended_unix_ns.unwrap_or(started_unix_ns))?;
    // An empty directory in the way is replaced in the same step.
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

fn imported_from(source: &Source, file: &Path, imported_unix_ns: i64) -> ImportedFrom {
    let mut lost = source.lost.clone();
    lost.push("how many periods were missed because a wake-up came late by more than an interval".into());
    lost.push("how many samples had a negative latency because a clock misbehaved".into());
    if source.measured.is_none() {
        lost.push("when each wake-up happened".into());
    }
    ImportedFrom {
        tool: source.tool.clone(),
        version: source.version.clone(),
        file_name: file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
        format: source.format.name().into(),
        resolution_ns: source.unit.ns() as u64,
        started_unix_ns: source.started_unix_ns,
        ended_unix_ns: source.ended_unix_ns,
        imported_unix_ns,
        lost,
        stated: source.stated.clone(),
    }
}

/// The source in the vocabulary of a run.
fn messages(source: &Source) -> Vec<Message> {
    let accounted = account::threads(source);
    let mut messages = Vec::new();
    messages.extend(source.environment.clone().map(|environment| Message::Environment(Box::new(environment))));
    let phase = |phase, monotonic_ns| Message::Phase { phase, monotonic_ns };
    messages.extend(source.measured.map(|(start, _)| phase(RunPhase::Measure, start)));
    messages.extend(source.measured.map(|(_, end)| phase(RunPhase::Collect, end)));
    let losses = source.losses.iter().chain(accounted.iter().flat_map(|thread| &thread.losses));
    messages.extend(losses.cloned().map(Message::Loss));
    let problems = source.problems.iter().chain(accounted.iter().flat_map(|thread| &thread.problems));
    messages.extend(problems.cloned().map(Message::Problem));
    messages.extend(rounding(source).into_iter().map(Message::Problem));
    for (number, (thread, Accounted { totals, histogram, .. })) in source.threads.iter().zip(accounted).enumerate() {
        if !thread.seconds.is_empty() {
            messages.push(Message::Seconds(thread.seconds.clone()));
        }
        messages.push(Message::Thread {
            thread: number as u32,
            cpu: thread.cpu.unwrap_or(number as u32),
            totals,
            histogram,
            worst: thread.worst.clone(),
        });
    }
    messages.push(Message::End { ending: Ending::Complete, monotonic_ns: source.measured.map_or(0, |(_, end)| end) });
    messages
}

/// What rounding in the source did to the figures.
fn rounding(source: &Source) -> Vec<Problem> {
    let notice =
        |text: String| Problem { code: Default::default(), severity: Severity::Notice, text, fix: String::new() };
    let mut notices = Vec::new();
    if source.unit == Unit::Us {
        let text =
            "values are rounded down to 1 µs by the source: a latency shown as 5 µs was at least 5 µs and below 6 µs";
        notices.push(notice(text.into()));
    }
    let means = || source.threads.iter().map(|thread| thread.mean);
    let symbol = source.unit.symbol();
    if means().any(|mean| mean.is_none()) {
        notices.push(notice("the mean was computed from the rounded values".into()));
    }
    match means().flatten().filter_map(|mean| mean.decimals).min() {
        Some(0) => notices.push(notice(format!("the mean comes from the source, rounded down to whole {symbol}"))),
        Some(decimals) => {
            notices.push(notice(format!("the mean comes from the source, with {decimals} decimals of a {symbol}")))
        }
        None => {}
    }
    notices
}

fn unix_ns() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}
