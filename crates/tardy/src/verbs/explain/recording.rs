//! A recording of another tool becomes an archive, which is explained like any other.

use crate::archives::RUNS;
use crate::exit::UsageError;
use crate::storing::{Foreign, Location, store, unix_ns};
use archive::reader::Run;
use clap::Args;
use evidence::archived::{Archived, Origin, archived};
use evidence::request::Request;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use wakeups::pattern::Pattern;
use words::printable::printable;

/// Larger files do not fit into memory everywhere.
const FILE_BYTES_MAX: u64 = 2 << 30;
/// Spikes that an archive keeps, so that later questions have more than this one shows.
const KEPT_MIN: usize = 10;

/// Of a recording.
#[derive(Debug, Args)]
pub struct RecordingArguments {
    /// In FILE, look at the threads of this name (`*` and `?` match)
    #[arg(long, value_name = "NAME", requires = "run")]
    comm: Option<String>,
    /// In FILE, look at this thread and those that it starts
    #[arg(long, value_name = "TID", requires = "run", conflicts_with = "comm")]
    pid: Option<i32>,
    /// Directory of the archive that FILE becomes [default: runs/<id>]
    #[arg(long, value_name = "DIR", requires = "run")]
    out: Option<PathBuf>,
}

/// The file, if one is named and not an archive.
///
/// # Errors
/// Options of recordings for an archive.
pub fn file_of<'a>(named: Option<&'a Path>, arguments: &RecordingArguments) -> Result<Option<&'a Path>, UsageError> {
    let file = named.filter(|path| path.is_file());
    let asked = arguments.comm.is_some() || arguments.pid.is_some() || arguments.out.is_some();
    match (file, asked) {
        (None, true) => Err(UsageError("--comm, --pid and --out belong to a trace file; an archive has its threads".into())),
        _ => Ok(file),
    }
}

/// Makes an archive of a file, and says where it is.
///
/// # Errors
/// A file that cannot be read, is of another kind, or has no wake-up of the threads.
pub fn archive_of(file: &Path, arguments: &RecordingArguments, worst: usize) -> anyhow::Result<Run> {
    let failed = |why: String| UsageError(format!("failed to explain {}: {why}", file.display()));
    let comm = arguments.comm.as_deref().map(Pattern::new).transpose().map_err(|why| UsageError(why.to_string()))?;
    let request = Request { tid: arguments.pid, comm, worst: worst.max(KEPT_MIN) };
    let bytes = contents(file).map_err(failed)?;
    let file_name = file.file_name().unwrap_or_default().to_string_lossy();
    let origin = Origin { file_name: &file_name, imported_unix_ns: unix_ns() };
    let archived = archived(&bytes, &request, origin).map_err(|why| failed(why.to_string()))?;
    let place = arguments.out.as_deref().map_or(Location::Below(Path::new(RUNS)), Location::Archive);
    let directory = store(foreign(archived), &place)?;
    complain!("tardy: {} is now the archive {}", printable(&file_name), printable(&directory.display().to_string()));
    Ok(Run::open(directory)?)
}

fn contents(file: &Path) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = File::open(file).and_then(|opened| opened.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes));
    read.map_err(|error| error.to_string())?;
    match bytes.len() as u64 > FILE_BYTES_MAX {
        true => Err(format!("it is larger than {} MiB; record a shorter time", FILE_BYTES_MAX >> 20)),
        false => Ok(bytes),
    }
}

fn foreign(archived: Archived) -> Foreign {
    let Archived { hostname, imported, messages, traces } = archived;
    Foreign {
        hostname,
        command: Vec::new(),
        started_unix_ns: None,
        ended_unix_ns: None,
        imported,
        messages,
        traces,
    }
}
