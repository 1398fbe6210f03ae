//! Makes an archive of a recording: its messages, and the trace of each wake-up that was kept.

pub mod environment;
mod figures;
mod lacks;
mod spikes;
mod tracer;

use crate::clock::Clock;
use crate::file::{Contents, Making, contents, is_trace_dat};
use crate::find::{Found, find};
use crate::problem::{Lack, Refusal};
use crate::request::{AtEnd, Request, busiest};
use crate::survey::Survey;
use archive::layout::FileKind;
use archive::manifest::ImportedFrom;
use archive::message::{Ending, Message, RunPhase};
use archive::problem::Remark;
use ftrace::trace_dat::{PagedTrace, Source};
use words::printable::printable;

/// A file before it is read.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    pub file_name: &'a str,
    /// Of a text, which does not name its clock; empty if unknown.
    pub clock: &'a str,
    pub imported_unix_ns: i64,
}

/// Makes an archive of what a machine recorded until it was reset, in CLOCK_MONOTONIC of that boot. Returns with it whether the wake-up or
/// cycle that it shows had not ended.
///
/// # Errors
/// [`Refusal`] if it shows no wake-up of the threads.
pub fn archived_at_end(file: PagedTrace<'_>, end: AtEnd, origin: Origin<'_>) -> Result<(Archived, bool), Refusal> {
    let request = Request { at_end: Some(end), worst: 1, ..Request::default() };
    let (found, mut archived) = found_events(file, Making::KEPT, &request, origin)?;
    if found {
        archived.imported.lost.push(Remark::new(&Lack::End));
    }
    Ok((archived, found))
}

/// An archive of a making.
#[derive(Debug)]
pub struct Archived {
    pub hostname: String,
    pub imported: ImportedFrom,
    pub messages: Vec<Message>,
    /// The trace of each spike, or the text of a latency tracer.
    pub files: Vec<(FileKind, Vec<u8>)>,
}

/// Makes an archive of a file. Of a trace.dat that is not in memory only a few MiB are there at a time; any other file is read as a whole.
///
/// # Errors
/// [`Refusal`] if it has no late wake-up to show.
pub fn archived<'a>(file: impl Into<Source<'a>>, request: &Request, origin: Origin<'_>) -> Result<Archived, Refusal> {
    let file = file.into();
    if let Some(making) = is_trace_dat(file) {
        return of_events(PagedTrace::open(file), making, request, origin);
    }
    let (bytes, _) = file.range(0, file.size());
    match contents(&bytes, origin.clock)? {
        Contents::Events(mut recording) => {
            let making = recording.making;
            of_events(recording.open(), making, request, origin)
        }
        Contents::Stretch(text) => Ok(tracer::archived(&text, origin)),
    }
}

fn of_events(file: PagedTrace<'_>, making: Making, request: &Request, origin: Origin<'_>) -> Result<Archived, Refusal> {
    found_events(file, making, request, origin).map(|(_, archived)| archived)
}

/// The archive, and whether its last sample is unfinished.
fn found_events(
    mut file: PagedTrace<'_>,
    making: Making,
    request: &Request,
    origin: Origin<'_>,
) -> Result<(bool, Archived), Refusal> {
    let mut survey = Survey::of(&mut file);
    survey.clock.coarser(making.resolution_ns);
    check(&file, &survey)?;
    let found = find(&file, &survey, request).ok_or(Refusal::NoEvents)?;
    if found.kept.is_empty() {
        let seen = busiest(&survey);
        let named = request.tid.is_some() || request.comm.is_some() || request.at_end.is_some();
        return Err(if named { Refusal::NoSuchThread { seen } } else { Refusal::NoRealTimeThread { seen } });
    }
    Ok((found.unfinished, archive_of(&file, &survey, found, making, origin)))
}

fn check(file: &PagedTrace<'_>, survey: &Survey) -> Result<(), Refusal> {
    if survey.cpus.is_empty() {
        let gaps: Vec<String> = file.gaps.iter().map(ToString::to_string).collect();
        return Err(if gaps.is_empty() { Refusal::NoEvents } else { Refusal::Unreadable(printable(&gaps.join("; "))) });
    }
    if !survey.has("sched", "sched_switch") {
        return Err(Refusal::NoSwitches);
    }
    match survey.clock {
        Clock::Counts => Err(Refusal::ClockOfCounts { clock: printable(&file.metadata.clock) }),
        _ => Ok(()),
    }
}

fn archive_of(
    file: &PagedTrace<'_>,
    survey: &Survey,
    mut found: Found,
    making: Making,
    origin: Origin<'_>,
) -> Archived {
    let environment = environment::of(file);
    let (spikes, spread_ns) = spikes::spikes(file, survey, &found);
    let mut messages = vec![Message::Environment(Box::new(environment.clone()))];
    let phase = |phase, monotonic_ns| Message::Phase { phase, monotonic_ns };
    messages.extend([phase(RunPhase::Measure, found.span.0), phase(RunPhase::Collect, found.span.1)]);
    messages.extend(figures::losses(survey, &found).into_iter().map(Message::Loss));
    messages.extend(figures::problems(file, survey, &found, spread_ns, making).into_iter().map(Message::Problem));
    messages.push(Message::Watched(figures::watched(survey, &found)));
    messages.extend(found.followed.series.iter_mut().flat_map(figures::series_messages));
    let mut files = Vec::new();
    for (spike, trace) in spikes {
        files.push((FileKind::SpikeTrace { spike: spike.number }, trace));
        messages.push(Message::Spike(Box::new(spike)));
    }
    messages.push(Message::End { ending: Ending::Complete, monotonic_ns: found.span.1 });
    let imported = ImportedFrom {
        tool: making.tool.into(),
        version: file.metadata.writer.split_whitespace().next().map(str::to_owned),
        file_name: origin.file_name.into(),
        format: making.format.into(),
        resolution_ns: making.resolution_ns,
        clock_spread_ns: Some(spread_ns).filter(|ns| *ns > 0),
        imported_unix_ns: origin.imported_unix_ns,
        lost: lacks::of(file, survey, &found.choice).iter().map(Remark::new).collect(),
        ..ImportedFrom::default()
    };
    Archived { hostname: environment.hostname, imported, messages, files }
}
