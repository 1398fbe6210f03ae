//! `tardy lab publish`: archives made anonymous and signed, as one file for others.

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::lab::publication_key as key;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use account::{Account, ExplanationSource};
use anyhow::Context;
use clap::Args;
use publication::openssh::PrivateKey;
use publication::{AnonymousRun, Changes, KernelFunctions, PseudonymKey, RunError, anonymous_run, package};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use words::figures::{count, counted};

/// Version of the document that `tardy lab publish --json` prints.
const PUBLISH_VERSION: u32 = 1;
/// Names of one kind that a dry run prints.
const NAMES_SHOWN: usize = 8;

/// Make runs anonymous and sign them: one file to hand to others
#[derive(Debug, Args)]
pub struct PublishArguments {
    /// Paths of archives, ids below runs/, or `latest`
    #[arg(value_name = "RUN", required = true)]
    runs: Vec<PathBuf>,
    /// File to write
    #[arg(short, long, value_name = "FILE", default_value = "publication.tar")]
    out: PathBuf,
    /// Sign with this key of Ed25519, as `ssh-keygen` makes it [default: ~/.config/tardy/publication-key, made on first use]
    #[arg(long, value_name = "FILE")]
    key: Option<PathBuf>,
    /// Make the key of --key, which must not exist
    #[arg(long, requires = "key")]
    new_key: bool,
    /// Keep names of programs, devices and kernel functions that match: `*` is any text, `?` any letter
    #[arg(long, value_name = "PATTERN")]
    keep_names: Vec<String>,
    /// Show what would be replaced and removed, and how often; write nothing
    #[arg(long)]
    dry_run: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Document {
    publish_version: u32,
    dry_run: bool,
    /// Null in a dry run.
    file: Option<PathBuf>,
    bytes: Option<u64>,
    /// SHA-256 of the key, as `ssh-keygen -l` shows it; null in a dry run without a key.
    key: Option<String>,
    /// The line for who checks it.
    public_key: Option<String>,
    /// Names of the runs inside the file; in a dry run without a key, the names of the archives.
    runs: Vec<String>,
    /// Replaced and removed texts, by kind; the names themselves only in a dry run.
    changes: Changes,
}

impl Verb for PublishArguments {
    const NAME: &'static str = "publish";
    const PLACE: Place = Place::Below(Parent::Lab);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy lab publish latest --dry-run",
        "tardy lab publish latest --out latency.tar",
        "tardy lab publish before after --keep-names 'nvme*' --key lab-key",
    ];
    const NOTES: &'static str = "\
Names of hosts, boards, threads, programs, devices and files become pseudonyms, the same for the same name and key. Command lines, plans \
and raw traces are left out; figures, settings, histograms and explanations stay. Read --dry-run, and the result, before you hand it on.
Exit codes: 0 written, 2 wrong usage, 3 an archive cannot be read or the file not written.";
    const FORMER_NAMES: &'static [&'static str] = &["publish"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &PublishArguments) -> anyhow::Result<Exit> {
    let opened = opened(&arguments.runs)?;
    let key = key::find(arguments.key.as_deref(), arguments.new_key, arguments.dry_run)?;
    // A dry run without a key has pseudonyms that no publication will have.
    let pseudonyms = key.as_ref().map_or_else(|| PseudonymKey::from_secret(b""), PrivateKey::pseudonyms);
    let runs = anonymous(&opened, &pseudonyms, &arguments.keep_names)?;
    let mut changes = changes_of(&runs);
    let mut document = Document {
        publish_version: PUBLISH_VERSION,
        dry_run: arguments.dry_run,
        file: None,
        bytes: None,
        key: key.as_ref().map(|key| key.public().fingerprint()),
        public_key: key.as_ref().map(|key| key.public().line()),
        runs: runs.iter().map(|run| run.id.clone()).collect(),
        changes: Changes::default(),
    };
    if let Some(key) = key.filter(|_| !arguments.dry_run) {
        document.bytes = Some(write(runs, &key, &arguments.out)?);
        document.file = Some(arguments.out.clone());
        changes.kinds.values_mut().for_each(|change| change.names.clear());
    }
    document.changes = changes;
    if arguments.json {
        json::print(&document)?;
    } else {
        let key = key::path(arguments.key.as_deref());
        lay_out(&document, key.as_deref(), Page::for_stdout()).print()?;
    }
    Ok(Exit::Measured)
}

/// The runs with their explanations: from their traces, or, where these are gone, the stored ones.
fn opened(runs: &[PathBuf]) -> anyhow::Result<Vec<Account>> {
    let explained = |run: &PathBuf| {
        let run = archives::open(run)?;
        let has_traces = run.spikes.iter().any(|spike| run.spike_trace_file(spike.number).is_ok());
        Ok(Account::of(run, if has_traces { ExplanationSource::Traces } else { ExplanationSource::StoredOrTraces }))
    };
    runs.iter().map(explained).collect()
}

fn anonymous(opened: &[Account], pseudonyms: &PseudonymKey, kept: &[String]) -> anyhow::Result<Vec<AnonymousRun>> {
    let mut functions = KernelFunctions::default();
    opened.iter().for_each(|of| functions.add(of.run()));
    let refused = |error: RunError| match error {
        RunError::Io { .. } | RunError::Rules { .. } => error.into(),
        wrong => UsageError(wrong.to_string()).into(),
    };
    let runs = opened.iter().map(|of| anonymous_run(of.run(), of.explanations(), pseudonyms, kept, &functions));
    runs.collect::<Result<Vec<_>, _>>().map_err(refused)
}

fn changes_of(runs: &[AnonymousRun]) -> Changes {
    let mut all = Changes::default();
    for (kind, change) in runs.iter().flat_map(|run| &run.changes.kinds) {
        let sum = all.kinds.entry(kind).or_default();
        sum.replaced += change.replaced;
        sum.removed += change.removed;
        sum.names.extend(change.names.iter().cloned());
    }
    all
}

/// Writes the file whole or not at all. Returns its length.
fn write(runs: Vec<AnonymousRun>, key: &PrivateKey, out: &Path) -> anyhow::Result<u64> {
    let mut partial = out.as_os_str().to_owned();
    partial.push(".partial");
    let partial = PathBuf::from(partial);
    let fail = || format!("failed to write {}", out.display());
    let written = || -> anyhow::Result<u64> {
        let mut sink = BufWriter::new(File::create(&partial)?);
        package::write(runs, env!("CARGO_PKG_VERSION"), key, &mut sink)?;
        sink.flush()?;
        let file = sink.into_inner().map_err(|error| error.into_error())?;
        file.sync_all()?;
        let bytes = file.metadata()?.len();
        fs::rename(&partial, out)?;
        Ok(bytes)
    };
    written()
        .inspect_err(|_| {
            let _ = fs::remove_file(&partial);
        })
        .with_context(fail)
}

fn lay_out(document: &Document, key: Option<&Path>, mut page: Page) -> Page {
    let runs = counted(document.runs.len() as u64, "run");
    match (&document.file, document.bytes) {
        (Some(file), Some(bytes)) => {
            page.heading(&format!("{runs} in {} ({} bytes)", file.display(), count(bytes)));
            document.runs.iter().for_each(|run| page.line(&format!("  {run}")));
        }
        _ => page.heading(&format!("{runs} would be published; nothing is written")),
    }
    let entries = document.changes.kinds.iter().map(|(kind, change)| {
        let replaced = (change.replaced > 0).then(|| format!("{} replaced", count(change.replaced)));
        let removed = (change.removed > 0).then(|| format!("{} removed", count(change.removed)));
        let figures = [replaced, removed].into_iter().flatten().collect::<Vec<_>>().join(", ");
        (format!("  {kind}"), figures + &shown(change.names.iter()))
    });
    page.entries(&entries.collect::<Vec<_>>());
    if let (Some(file), Some(fingerprint), Some(key)) = (&document.file, &document.key, key) {
        page.wrapped("", &format!("signed by {fingerprint}"));
        let line = format!("tardy lab check-publication {} --key {}.pub", file.display(), key.display());
        page.wrapped("", &format!("hand over the file and {}.pub; `{line}` checks it", key.display()));
    }
    page
}

/// The first names, for the user to look at.
fn shown<'a>(names: impl ExactSizeIterator<Item = &'a String>) -> String {
    let more = names.len().saturating_sub(NAMES_SHOWN) as u64;
    let first: Vec<&str> = names.take(NAMES_SHOWN).map(String::as_str).collect();
    let more = if more > 0 { format!(" and {} more", count(more)) } else { String::new() };
    if first.is_empty() { String::new() } else { format!(": {}{more}", first.join(", ")) }
}
