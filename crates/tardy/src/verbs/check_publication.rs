//! `tardy lab check-publication`: whether a publication is as a trusted key signed it, and its runs unpacked.

use crate::exit::{Exit, UsageError};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use anyhow::Context;
use archive::directory::ArchiveDirectory;
use archive::write_error::WriteError;
use clap::Args;
use publication::openssh::{PublicKey, trusted_keys};
use publication::verification::{Verified, verify};
use serde::Serialize;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};
use words::figures::{count, counted};

/// Version of the document that `tardy lab check-publication --json` prints.
const VERIFY_VERSION: u32 = 1;
const KEYS_BYTES_MAX: u64 = 1 << 20;
const BUFFER_BYTES: usize = 256 << 10;

/// Check a publication against its publisher's key, and unpack it
#[derive(Debug, Args)]
pub struct CheckPublicationArguments {
    /// The file that `tardy lab publish` wrote
    file: PathBuf,
    /// Public keys that you trust: lines of `ssh-ed25519 KEY`, or of an allowed_signers file
    #[arg(long, value_name = "FILE", required = true)]
    key: Vec<PathBuf>,
    /// Unpack the runs into this new directory once they prove to be signed
    #[arg(long, value_name = "DIR")]
    into: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Document {
    verify_version: u32,
    /// SHA-256 of the key that signed, as `ssh-keygen -l` shows it.
    key: String,
    runs: Vec<String>,
    files: u64,
    bytes: u64,
    /// Version of the rules by which names were replaced.
    rules_version: u32,
    /// Version of the tardy that published.
    tool_version: String,
    into: Option<PathBuf>,
}

impl Verb for CheckPublicationArguments {
    const NAME: &'static str = "check-publication";
    const PLACE: Place = Place::Below(Parent::Lab);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy lab check-publication publication.tar --key publisher.pub",
        "tardy lab check-publication publication.tar --key publisher.pub --into runs/theirs",
    ];
    const NOTES: &'static str = "\
Get the public key from the publisher by another way than the file. `ssh-keygen -Y verify` and `sha256sum --check` check the same: \
README.txt in the file has the commands. A run as measured is not a publication; `tardy lab publish` makes one.
Exit codes: 0 as signed, 2 wrong usage, 3 refused: changed, cut, signed by another key, or no publication.";
    const FORMER_NAMES: &'static [&'static str] = &["verify"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &CheckPublicationArguments) -> anyhow::Result<Exit> {
    let mut trusted = Vec::new();
    for path in &arguments.key {
        trusted.extend(keys_of(path)?);
    }
    let file = &arguments.file;
    let opened = File::open(file).with_context(|| format!("failed to read {}", file.display()))?;
    if opened.metadata().is_ok_and(|found| found.is_dir()) {
        let text = format!("{} is a directory; name the file that `tardy lab publish` wrote", file.display());
        return Err(UsageError(text).into());
    }
    let fail = || format!("failed to verify {}", file.display());
    // The checksum of a long file that nobody signed differs only at its end: nothing is unpacked before.
    if arguments.into.is_some() && opened.metadata().is_ok_and(|found| found.is_file()) {
        verify(BufReader::with_capacity(BUFFER_BYTES, &opened), &trusted, None).with_context(fail)?;
        (&opened).rewind().with_context(fail)?;
    }
    let source = BufReader::with_capacity(BUFFER_BYTES, opened);
    let verified = match &arguments.into {
        None => verify(source, &trusted, None).with_context(fail)?,
        Some(into) => unpacked(into, |inside| verify(source, &trusted, Some(inside)).with_context(fail))?,
    };
    let document = Document {
        verify_version: VERIFY_VERSION,
        key: verified.key.fingerprint(),
        runs: verified.publication.runs,
        files: verified.files,
        bytes: verified.bytes,
        rules_version: verified.publication.rules_version,
        tool_version: verified.publication.tool_version,
        into: arguments.into.clone(),
    };
    if arguments.json {
        json::print(&document)?;
    } else {
        lay_out(&document, Page::for_stdout()).print()?;
    }
    Ok(Exit::Measured)
}

fn keys_of(path: &Path) -> anyhow::Result<Vec<PublicKey>> {
    let wrong = |why: String| UsageError(format!("failed to read the key {}: {why}", path.display()));
    let mut text = String::new();
    let read = File::open(path).and_then(|file| file.take(KEYS_BYTES_MAX).read_to_string(&mut text));
    read.map_err(|error| wrong(error.to_string()))?;
    Ok(trusted_keys(&text).map_err(|error| wrong(error.to_string()))?)
}

/// Fills a directory that gets its name when everything in it is verified.
fn unpacked(into: &Path, fill: impl FnOnce(&ArchiveDirectory) -> anyhow::Result<Verified>) -> anyhow::Result<Verified> {
    if into.is_file() || fs::read_dir(into).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(WriteError::Exists(into.to_owned()).into());
    }
    let name = into.file_name().context("failed to unpack: --into needs the name of a new directory")?;
    let partial = into.with_file_name(format!(".{}.partial", name.to_string_lossy()));
    let fail = || format!("failed to unpack into {}", into.display());
    let above = into.parent().filter(|above| !above.as_os_str().is_empty());
    above.map(fs::create_dir_all).transpose().with_context(fail)?;
    fs::create_dir(&partial).with_context(|| format!("failed to make {}", partial.display()))?;
    let filled = || -> anyhow::Result<Verified> {
        let verified = fill(&ArchiveDirectory::open(&partial).with_context(fail)?)?;
        fs::rename(&partial, into).with_context(fail)?;
        Ok(verified)
    };
    filled().inspect_err(|_| {
        let _ = fs::remove_dir_all(&partial);
    })
}

fn lay_out(document: &Document, mut page: Page) -> Page {
    let (runs, files) = (counted(document.runs.len() as u64, "run"), counted(document.files, "file"));
    page.heading(&format!("as signed: {runs}, {files}, {} bytes", count(document.bytes)));
    let shown = |run: &String| document.into.as_ref().map_or(run.clone(), |into| into.join(run).display().to_string());
    document.runs.iter().for_each(|run| page.line(&format!("  {}", shown(run))));
    page.wrapped("", &format!("signed by {}", document.key));
    page
}
