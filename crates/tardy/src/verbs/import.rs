//! `tardy import`: results of other tools become run archives.

mod values;

use crate::exit::{Exit, UsageError};
use crate::storing::{Foreign, Location, store, unix_ns};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::summary::summary_page;
use crate::verb::{Group, Place, Verb};
use archive::reader::Run;
use archive::summary::RunSummary;
use clap::Args;
use evidence::file::unpacked;
use evidence::problem::Refusal;
use interchange::imports::archived::{imported_from, messages};
use interchange::imports::source::Source;
use interchange::imports::{FILE_BYTES_MAX, FormatError, Hints, ImportFormat, read};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use thiserror::Error;
use values::{SeriesValue, UnitValue};
use words::figures::count;
use words::printable::printable;
use words::vocabulary;

/// Import results of cyclictest, rteval, rtla and others
#[derive(Debug, Args)]
pub struct ImportArguments {
    /// Result files; the format is detected from their contents
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Directory of the archive; with several runs, the parent directory of the archives [default: runs]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Read the files in this format instead of detecting it
    #[arg(long, value_name = "FORMAT", value_parser = values::format_parser())]
    format: Option<&'static dyn ImportFormat>,
    /// Unit of the latencies, where the file does not say: text made with -N is in ns [default: us]
    #[arg(long, value_name = "UNIT")]
    unit: Option<UnitValue>,
    /// Which latencies of a file that has both thread and interrupt latencies
    #[arg(long, value_name = "SERIES", default_value = "thread")]
    series: SeriesValue,
    /// Print one JSON document with the summaries
    #[arg(long)]
    json: bool,
}

impl Verb for ImportArguments {
    const NAME: &'static str = "import";
    const PLACE: Place = Place::Listed(Group::Exchange);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy import cyclictest.json",
        "tardy import old/*.json --out runs/old",
        "tardy import output.txt --unit ns",
    ];
    const NOTES: &'static str = "\
Several files, and several runs in a file, become several archives. Figures that a file lacks are marked as lost, never invented.
If one file cannot be read, none is imported.";

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &ImportArguments) -> anyhow::Result<Exit> {
    let hints =
        Hints { format: arguments.format, unit: arguments.unit.map(|value| value.0), series: arguments.series.0 };
    let mut sources: Vec<(&PathBuf, Source)> = Vec::new();
    let mut refusals = Vec::new();
    for file in &arguments.files {
        match sources_of(file, &hints) {
            Ok(runs) => sources.extend(runs.into_iter().map(|source| (file, source))),
            Err(why) => refusals.push(format!("failed to import {}: {why}", file.display())),
        }
    }
    if let Some(last) = refusals.pop() {
        for refusal in refusals {
            complain!("tardy: {}", printable(&refusal));
        }
        let none = if arguments.files.len() > 1 { "; no file was imported" } else { "" };
        return Err(UsageError(format!("{last}{none}")).into());
    }
    let mut imported = Vec::new();
    let count = sources.len();
    for (file, source) in sources {
        let place = match (&arguments.out, count) {
            (Some(directory), 1) => Location::Archive(directory),
            (Some(directory), _) => Location::Below(directory),
            (None, _) => Location::Below(Path::new(crate::archives::RUNS)),
        };
        let directory = store(foreign(&source, file), &place)?;
        imported.push((file, RunSummary::of(&Run::open(directory)?, &[])));
    }
    show(arguments, &imported)?;
    Ok(Exit::Measured)
}

fn foreign(source: &Source, file: &Path) -> Foreign {
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    Foreign {
        hostname: source.environment.as_ref().map(|environment| environment.hostname.clone()).unwrap_or_default(),
        command: source.command.iter().cloned().collect(),
        started_unix_ns: source.started_unix_ns,
        ended_unix_ns: source.ended_unix_ns,
        imported: imported_from(source, &file_name, unix_ns()),
        messages: messages(source),
        files: Vec::new(),
    }
}

/// Reads the runs of a file and its companion files; the error completes "failed to import FILE: ".
fn sources_of(path: &Path, hints: &Hints) -> Result<Vec<Source>, Unread> {
    let bytes = bytes_of(path)?;
    let mut sources = read(&unpacked(&bytes)?, hints)?;
    for source in &mut sources {
        let Some(companion) = source.format.companion() else { continue };
        let beside = path.with_file_name(companion.file_name);
        if fs::metadata(&beside).is_ok_and(|file| file.is_file()) {
            let added = File::open(&beside).and_then(|mut file| (companion.add)(source, &mut file));
            added.map_err(|error| Unread::Companion { file_name: companion.file_name, error })?;
        }
    }
    Ok(sources)
}

fn bytes_of(path: &Path) -> Result<Vec<u8>, Unread> {
    if path.is_dir() {
        return Err(Unread::Directory);
    }
    let named = |error: io::Error| if error.kind() == io::ErrorKind::NotFound { Unread::Absent } else { error.into() };
    let mut bytes = Vec::new();
    File::open(path).map_err(named)?.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > FILE_BYTES_MAX { Err(Unread::TooLarge) } else { Ok(bytes) }
}

/// Why a file is not imported. The texts complete "failed to import FILE: ".
#[derive(Debug, Error)]
enum Unread {
    #[error("there is no such file")]
    Absent,
    #[error("it is a directory; name the files in it")]
    Directory,
    #[error("it is larger than {} MiB, as no result of these tools is", FILE_BYTES_MAX >> 20)]
    TooLarge,
    #[error(transparent)]
    Packed(#[from] Refusal),
    #[error(transparent)]
    Format(#[from] FormatError),
    #[error("{file_name} beside it cannot be read: {error}")]
    Companion { file_name: &'static str, error: io::Error },
    #[error(transparent)]
    Io(#[from] io::Error),
}

fn show(arguments: &ImportArguments, imported: &[(&PathBuf, RunSummary)]) -> anyhow::Result<()> {
    if arguments.json {
        let imports: Vec<_> =
            imported.iter().map(|(file, summary)| serde_json::json!({ "file": file, "summary": summary })).collect();
        json::print(&serde_json::json!({ "imports": imports }))?;
        return Ok(());
    }
    let mut page = Page::for_stdout();
    if let [(_, summary)] = imported {
        summary_page(summary, None, page).print()?;
        return Ok(());
    }
    for (file, summary) in imported {
        let cycles = summary.cpus.iter().map(|cpu| cpu.cycles).fold(0, u64::saturating_add);
        let max = summary.all_cpus.max.map_or("unknown".into(), |ns| vocabulary::maximum(summary, ns));
        let samples = vocabulary::sample(summary).for_count(cycles);
        page.record(0, &format!("{}: {} {samples}, max {max}, in {}", file.display(), count(cycles), summary.archive));
    }
    page.wrapped("", "`tardy report ARCHIVE` shows one, with what its source did not keep.");
    page.print()?;
    Ok(())
}
