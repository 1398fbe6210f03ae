//! One archive, anonymous: every message and document of it by the rules, and no raw trace.

mod fields;
mod findings;

use crate::changes::Changes;
use crate::functions::KernelFunctions;
use crate::pseudonym::PseudonymKey;
use crate::rules::RULES_VERSION;
use crate::text::Anonymiser;
use archive::directory::ArchiveDirectory;
use archive::explanation::{Explanation, MarkKind};
use archive::frame::{Decoder, Encoder, Item};
use archive::layout::{MANIFEST, STREAM, file_path};
use archive::manifest::{Manifest, Published};
use archive::message::{FileKind, Message};
use archive::reader::Run;
use archive::recorded::{RECORDED_FILE, Recorded};
use fields::anonymous;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Larger streams are not published: they are kept in memory.
const STREAM_BYTES_MAX: u64 = 1 << 30;
const RECORDED_BYTES_MAX: u64 = 64 << 20;
const NAMES_MAX: usize = 100_000;
const EXPLANATIONS: &str = "explanations.json";
/// Folders whose files are raw traces or texts of the target.
const RAW: [(&str, &str); 4] = [
    ("spikes", "raw traces of late wake-ups"),
    ("tracer", "texts of the kernel's latency tracers"),
    ("storage", "raw traces of block requests, and results of fio"),
    ("audit", "raw traces of an audit"),
];
/// Files that a publication does not have, such as consoles and reports.
const OTHER_FILES: &str = "other files: consoles, reports, pins";
const MARKERS: &str = "texts that programs wrote into the trace";
const UNKNOWN: &str = "messages of a later version, and damaged ones";

/// Why an archive is not published.
#[derive(Debug, Error)]
pub enum RunError {
    #[error("failed to publish {}: the run is still active; wait for its end", .0.display())]
    GoesOn(PathBuf),
    #[error("failed to publish {}: it is an audit, and no rule covers what a program asked of the kernel; publish a `tardy run` or `tardy watch` of the program instead", .0.display())]
    Audit(PathBuf),
    #[error("failed to publish {}: its manifest cannot be read", .0.display())]
    NoManifest(PathBuf),
    #[error("failed to publish {}: its stream has more than {STREAM_BYTES_MAX} bytes; publish a shorter run", .0.display())]
    TooLarge(PathBuf),
    #[error("failed to read {}: {source}", path.display())]
    Io { path: PathBuf, source: io::Error },
    #[error("failed to make {} anonymous: {source}", path.display())]
    Rules { path: PathBuf, source: serde_json::Error },
}

/// The contents of a file to be published.
#[derive(Debug)]
pub enum Contents {
    Bytes(Vec<u8>),
    /// Numbers alone, copied as they are.
    Samples(File, u64),
}

/// An archive that is anonymous.
#[derive(Debug)]
pub struct AnonymousRun {
    pub id: String,
    /// By name inside the archive.
    pub files: Vec<(String, Contents)>,
    pub changes: Changes,
}

/// Makes an archive anonymous. `functions` are those of all runs of the publication, `kept` patterns of names that stay.
///
/// # Errors
/// [`RunError`].
pub fn anonymous_run(
    run: &Run,
    explanations: &[Explanation],
    key: &PseudonymKey,
    kept: &[String],
    functions: &KernelFunctions,
) -> Result<AnonymousRun, RunError> {
    let directory = &run.directory;
    let manifest = run.manifest.as_ref().ok_or_else(|| RunError::NoManifest(directory.clone()))?;
    if run.goes_on {
        return Err(RunError::GoesOn(directory.clone()));
    }
    if manifest.settings.as_ref().is_some_and(|settings| settings.audit.is_some()) {
        return Err(RunError::Audit(directory.clone()));
    }
    let inside = ArchiveDirectory::open(directory).map_err(|source| io_error(directory, source))?;
    let mut rules = Anonymiser { key, kept, functions, own_tids: own_tids(run), changes: Changes::default() };
    let wrong = |source| RunError::Rules { path: directory.clone(), source };

    let mut published: Manifest = by_rules(manifest, &mut rules).map_err(wrong)?;
    published.published = Some(Published { rules_version: RULES_VERSION });
    let mut files = vec![(MANIFEST.to_owned(), Contents::Bytes(json(&published)))];
    files.push((STREAM.to_owned(), Contents::Bytes(stream(&inside, &mut rules)?)));
    let mut explanations = explanations.to_vec();
    for explanation in &mut explanations {
        let marks = explanation.marks.len();
        explanation.marks.retain(|mark| mark.kind != MarkKind::Marker);
        rules.changes.removed(MARKERS, (marks - explanation.marks.len()) as u64);
    }
    let mut explanations: Vec<Explanation> = by_rules(&explanations, &mut rules).map_err(wrong)?;
    explanations.iter_mut().for_each(|explanation| findings::write_again(explanation, run));
    files.push((EXPLANATIONS.to_owned(), Contents::Bytes(json(&explanations))));
    if let Ok(bytes) = inside.read(RECORDED_FILE, RECORDED_BYTES_MAX)
        && let Ok(recorded) = serde_json::from_slice::<Recorded>(&bytes)
    {
        let recorded: Recorded = by_rules(&recorded, &mut rules).map_err(wrong)?;
        files.push((RECORDED_FILE.to_owned(), Contents::Bytes(json(&recorded))));
    }
    for thread in run.threads.keys() {
        let name = file_path(FileKind::Samples { thread: *thread });
        if let Ok(file) = inside.file(&name) {
            let bytes = file.metadata().map_err(|source| io_error(&directory.join(&name), source))?.len();
            files.push((name.to_string_lossy().into_owned(), Contents::Samples(file, bytes)));
        }
    }
    count_left_out(&inside, &files, &mut rules.changes);
    files.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(AnonymousRun { id: published.id, files, changes: rules.changes })
}

/// The threads of tardy and its meter in a run.
fn own_tids(run: &Run) -> BTreeSet<i32> {
    let effective = run.effective.iter();
    effective
        .flat_map(|effective| effective.tool_tids.iter().copied().chain(effective.threads.iter().map(|of| of.tid)))
        .collect()
}

fn io_error(path: &Path, source: io::Error) -> RunError {
    RunError::Io { path: path.to_owned(), source }
}

fn by_rules<T: Serialize + DeserializeOwned>(value: &T, rules: &mut Anonymiser<'_>) -> Result<T, serde_json::Error> {
    serde_json::from_value(anonymous(value, rules)?)
}

fn json(value: &impl Serialize) -> Vec<u8> {
    let mut text = serde_json::to_vec_pretty(value).expect("an archive has only string keys");
    text.push(b'\n');
    text
}

/// The stream with every message by the rules.
fn stream(inside: &ArchiveDirectory, rules: &mut Anonymiser<'_>) -> Result<Vec<u8>, RunError> {
    let path = inside.path().join(STREAM);
    let mut file = inside.file(STREAM).map_err(|source| io_error(&path, source))?;
    let bytes = file.metadata().map_err(|source| io_error(&path, source))?.len();
    if bytes > STREAM_BYTES_MAX {
        return Err(RunError::TooLarge(inside.path().to_owned()));
    }
    let (mut decoder, mut encoder) = (Decoder::default(), Encoder::default());
    let mut written = Vec::new();
    // Files that are published, by their number in the stream.
    let mut kept = BTreeSet::new();
    let mut buffer = vec![0; 256 << 10];
    loop {
        let count = file.read(&mut buffer).map_err(|source| io_error(&path, source))?;
        let items = if count == 0 { std::mem::take(&mut decoder).finish() } else { decoder.push(&buffer[..count]) };
        for item in items {
            let Item::Message(message) = item else {
                rules.changes.removed(UNKNOWN, u64::from(!matches!(item, Item::Chunk { .. })));
                continue;
            };
            // A list of figures has no text.
            let message = match message {
                Message::PackedSeconds(packed) => Message::Seconds(packed.unpacked().iter().collect()),
                message => message,
            };
            match &message {
                Message::Progress { .. } => continue,
                Message::FileBegin { file, kind: FileKind::Samples { .. } } => drop(kept.insert(*file)),
                Message::FileBegin { .. } => continue,
                Message::FileEnd { file, .. } if !kept.contains(file) => continue,
                _ => {}
            }
            let message: Message = by_rules(&message, rules)
                .map_err(|source| RunError::Rules { path: inside.path().to_owned(), source })?;
            written.extend(encoder.message(&message));
        }
        if count == 0 {
            return Ok(written);
        }
    }
}

fn count_left_out(inside: &ArchiveDirectory, published: &[(String, Contents)], changes: &mut Changes) {
    let names = |folder: Option<&Path>| inside.names(folder, NAMES_MAX).unwrap_or_default();
    let folders: Vec<&str> = RAW.iter().map(|(folder, _)| *folder).chain(["samples"]).collect();
    let is_other = |name: &&std::ffi::OsString| {
        let known = published.iter().any(|(published, _)| name.as_os_str() == OsStr::new(published));
        !known && !folders.iter().any(|folder| name.as_os_str() == OsStr::new(folder))
    };
    changes.removed(OTHER_FILES, names(None).iter().filter(is_other).count() as u64);
    for (folder, kind) in RAW {
        changes.removed(kind, names(Some(Path::new(folder))).len() as u64);
    }
}
