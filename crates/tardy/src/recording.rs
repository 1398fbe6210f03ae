//! A recording of another tool becomes an archive, which is explained like any other.

mod buffer;
mod bytes;
mod unreadable;

use crate::archives::RUNS;
use crate::exit::UsageError;
use crate::options::quantity::whole;
use crate::storing::{Foreign, Location, store, unix_ns};
use archive::reader::Run;
use bytes::RecordedBytes;
use clap::Args;
use evidence::archived::{Archived, Origin, archived};
use evidence::file::{Contents, contents, is_trace_dat};
use evidence::request::Request;
use ftrace::trace_dat::PagedTrace;
use ftrace::tracefs::Tracefs;
use std::borrow::Cow;
use std::path::{Path, PathBuf};
use unreadable::Unreadable;
use wakeups::pattern::Pattern;
use words::printable::printable;

/// Spikes that an archive keeps, so that later questions have more than this one shows.
const KEPT_MIN: usize = 10;

/// Of a recording.
#[derive(Debug, Default, Args)]
pub struct RecordingArguments {
    /// Explain a trace instance of this machine
    #[arg(long, value_name = "NAME", conflicts_with = "run")]
    pub instance: Option<String>,
    /// Of a trace, threads of this name (`*`, `?` match)
    #[arg(long, value_name = "NAME")]
    pub comm: Option<String>,
    /// Of a trace, this thread and those that it starts
    #[arg(long, value_name = "TID", conflicts_with = "comm", value_parser = whole::<i32>(1..))]
    pub pid: Option<i32>,
    /// Archive of a trace [default: runs/<id>]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// A recording of another tool, before it is read.
#[derive(Debug)]
pub enum Recorded<'a> {
    File(&'a Path),
    Instance(&'a str),
    /// The directory of a trace buffer, such as `/sys/kernel/tracing`.
    Buffer(&'a Path),
}

impl<'a> Recorded<'a> {
    /// The recording that the command line names; `None` if it names an archive.
    ///
    /// # Errors
    /// Options of recordings for an archive.
    pub fn named(run: Option<&'a Path>, arguments: &'a RecordingArguments) -> Result<Option<Self>, UsageError> {
        let of_path = |path: &'a Path| match path {
            path if path.is_file() || bytes::description(path).is_some() => Some(Self::File(path)),
            path if buffer::is_one(path) => Some(Self::Buffer(path)),
            _ => None,
        };
        let recorded = arguments.instance.as_deref().map(Self::Instance).or(run.and_then(of_path));
        let asked = arguments.comm.is_some() || arguments.pid.is_some() || arguments.out.is_some();
        if recorded.is_none() && asked {
            let text = "--comm, --pid and --out belong to a trace of another tool; name its file, or --instance";
            return Err(UsageError(text.into()));
        }
        Ok(recorded)
    }

    fn name(&self) -> Cow<'a, str> {
        match self {
            Self::File(path) | Self::Buffer(path) => path.file_name().unwrap_or_default().to_string_lossy(),
            Self::Instance(name) => Cow::Borrowed(name),
        }
    }

    /// Its bytes, and the clock of an instance. `scratch`: a directory with room for an unpacked file.
    fn contents(&self, scratch: &Path) -> Result<(RecordedBytes, String), Unreadable> {
        match self {
            Self::File(path) => Ok((RecordedBytes::of(path, scratch)?, String::new())),
            Self::Instance(name) => {
                let tracefs = Tracefs::find()?;
                let others = tracefs.instances();
                if !others.iter().any(|instance| instance == name) {
                    return Err(Unreadable::NoInstance { others });
                }
                let instance = tracefs.open_instance(name)?;
                buffer::contents(instance.path())
            }
            Self::Buffer(path) => buffer::contents(path),
        }
    }
}

/// Makes an archive of a recording, and says where it is.
///
/// # Errors
/// A recording that cannot be read, is of another kind, or has no wake-up of the threads.
pub fn archive_of(recorded: &Recorded<'_>, arguments: &RecordingArguments, worst: usize) -> anyhow::Result<Run> {
    let directory = stored(recorded, arguments, worst)?;
    let (name, archive) = (recorded.name(), directory.display().to_string());
    complain!("tardy: {} is now the archive {}", printable(&name), printable(&archive));
    Ok(Run::open(directory)?)
}

/// Makes an archive of a recording and returns its directory.
///
/// # Errors
/// As [`archive_of`].
pub fn stored(recorded: &Recorded<'_>, arguments: &RecordingArguments, worst: usize) -> anyhow::Result<PathBuf> {
    let name = recorded.name();
    let failed = |why: String| UsageError(format!("failed to explain {name}: {why}"));
    let comm = arguments.comm.as_deref().map(Pattern::new).transpose().map_err(|why| UsageError(why.to_string()))?;
    let request = Request { tid: arguments.pid, comm, worst: worst.max(KEPT_MIN), at_end: None };
    let location = arguments.out.as_deref().map_or(Location::Below(Path::new(RUNS)), Location::Archive);
    let (bytes, clock) = recorded.contents(location.parent()).map_err(|why| failed(why.to_string()))?;
    let origin = Origin { file_name: &name, clock: &clock, imported_unix_ns: unix_ns() };
    let archived = archived(bytes.source(), &request, origin).map_err(|why| failed(why.to_string()))?;
    store(foreign(archived), &location)
}

/// Reads the events of a recording.
///
/// # Errors
/// A recording that cannot be read, is of another kind, or has no events.
pub fn with_events<T>(recorded: &Recorded<'_>, read: impl FnOnce(&mut PagedTrace<'_>) -> T) -> anyhow::Result<T> {
    let failed = |why: String| UsageError(format!("failed to read {}: {why}", printable(&recorded.name())));
    let location = Location::Below(Path::new(RUNS));
    let (bytes, clock) = recorded.contents(location.parent()).map_err(|why| failed(why.to_string()))?;
    let source = bytes.source();
    if is_trace_dat(source).is_some() {
        return Ok(read(&mut PagedTrace::open(source)));
    }
    let (plain, _) = source.range(0, source.size());
    match contents(&plain, &clock).map_err(|why| failed(why.to_string()))? {
        Contents::Events(mut recording) => Ok(read(&mut recording.open())),
        Contents::Stretch(_) => Err(failed("a latency tracer keeps one stretch, and no wake-ups".into()).into()),
    }
}

fn foreign(archived: Archived) -> Foreign {
    let Archived { hostname, imported, messages, files } = archived;
    Foreign { hostname, command: Vec::new(), started_unix_ns: None, ended_unix_ns: None, imported, messages, files }
}
