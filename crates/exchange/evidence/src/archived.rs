//! Makes an archive of a recording: its messages, and the trace of each wake-up that was kept.

mod environment;
mod lacks;

use crate::cut::{Cut, OffsetsAt, Stretch, cut};
use crate::file::{Recording, recording};
use crate::find::{Found, find};
use crate::kept::Kept;
use crate::problem::{RecordingProblem, Refusal};
use crate::request::{Request, busiest};
use crate::survey::Survey;
use archive::manifest::ImportedFrom;
use archive::message::{Ending, Loss, LossKind, Message, Problem, RunPhase, Severity};
use archive::policy::Policy;
use archive::problem::Remark;
use archive::sample::Sample;
use archive::settings::SnapshotMode;
use archive::spike::{Snapshot, Spike, SpikeReason};
use archive::watched::{WatchedKind, WatchedSeries};
use ftrace::trace_dat::TraceFile;
use wakeups::series::Series;
use words::printable::printable;

/// Bytes of traces after which no more spikes are kept.
const TRACE_BYTES_MAX: usize = 256 << 20;

/// A file before it is read.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    pub file_name: &'a str,
    /// Of a text, which does not name its clock; empty if unknown.
    pub clock: &'a str,
    pub imported_unix_ns: i64,
}

/// An archive of a recording.
#[derive(Debug)]
pub struct Archived {
    pub hostname: String,
    pub imported: ImportedFrom,
    pub messages: Vec<Message>,
    /// The trace of each spike, by its number.
    pub traces: Vec<(u32, Vec<u8>)>,
}

/// Makes an archive of the bytes of a file.
///
/// # Errors
/// [`Refusal`] if it has no late wake-up to show.
pub fn archived(bytes: &[u8], request: &Request, origin: Origin<'_>) -> Result<Archived, Refusal> {
    let recording = recording(bytes, origin.clock)?;
    let file = TraceFile::parse(&*recording.trace);
    let mut survey = Survey::of(&file);
    survey.clock.coarser(recording.resolution_ns);
    check(&file, &survey)?;
    let found = find(&file, &survey, request).ok_or(Refusal::NoEvents)?;
    if found.kept.is_empty() {
        let seen = busiest(&survey);
        let named = request.tid.is_some() || request.comm.is_some();
        return Err(if named { Refusal::NoSuchThread { seen } } else { Refusal::NoRealTimeThread { seen } });
    }
    Ok(archive_of(&file, &survey, found, &recording, origin))
}

fn check(file: &TraceFile<'_>, survey: &Survey) -> Result<(), Refusal> {
    if survey.cpus.is_empty() {
        let gaps: Vec<String> = file.gaps.iter().map(ToString::to_string).collect();
        return Err(if gaps.is_empty() { Refusal::NoEvents } else { Refusal::Unreadable(printable(&gaps.join("; "))) });
    }
    if !survey.has("sched", "sched_switch") {
        return Err(Refusal::NoSwitches);
    }
    match survey.clock {
        crate::clock::Clock::Counts => Err(Refusal::ClockOfCounts { clock: printable(&file.metadata.clock) }),
        _ => Ok(()),
    }
}

fn archive_of(
    file: &TraceFile<'_>,
    survey: &Survey,
    mut found: Found,
    recording: &Recording<'_>,
    origin: Origin<'_>,
) -> Archived {
    let environment = environment::of(file);
    let (spikes, spread_ns) = spikes(file, survey, &found);
    let mut messages = vec![Message::Environment(Box::new(environment.clone()))];
    let phase = |phase, monotonic_ns| Message::Phase { phase, monotonic_ns };
    messages.extend([phase(RunPhase::Measure, found.span.0), phase(RunPhase::Collect, found.span.1)]);
    messages.extend(losses(survey, &found).into_iter().map(Message::Loss));
    messages.extend(problems(file, survey, spread_ns, recording).into_iter().map(Message::Problem));
    messages.push(Message::Watched(watched(survey, &found)));
    messages.extend(found.followed.series.iter_mut().flat_map(series_messages));
    let mut traces = Vec::new();
    for (spike, trace) in spikes {
        traces.push((spike.number, trace));
        messages.push(Message::Spike(Box::new(spike)));
    }
    messages.push(Message::End { ending: Ending::Complete, monotonic_ns: found.span.1 });
    let imported = ImportedFrom {
        tool: recording.tool.into(),
        version: file.metadata.writer.split_whitespace().next().map(str::to_owned),
        file_name: origin.file_name.into(),
        format: recording.format.into(),
        resolution_ns: recording.resolution_ns,
        clock_spread_ns: Some(spread_ns).filter(|ns| *ns > 0),
        imported_unix_ns: origin.imported_unix_ns,
        lost: lacks::of(file, survey, &found.choice).iter().map(Remark::new).collect(),
        ..ImportedFrom::default()
    };
    Archived { hostname: environment.hostname, imported, messages, traces }
}

/// The spikes with their traces, and how uncertain their times are. The largest get their trace first.
fn spikes(file: &TraceFile<'_>, survey: &Survey, found: &Found) -> (Vec<(Spike, Vec<u8>)>, i64) {
    let mut ranked: Vec<(u32, &(Kept, SpikeReason))> = (1..).zip(&found.kept).collect();
    ranked.sort_by_key(|(_, (kept, _))| std::cmp::Reverse(kept.counted.sample.latency_ns));
    let mut spikes = Vec::new();
    let (mut largest_ns, mut bytes) = (0, 0);
    for (number, (kept, reason)) in ranked.into_iter() {
        if bytes > TRACE_BYTES_MAX {
            break;
        }
        let offsets = OffsetsAt::new(survey, kept.raw_seen_ns);
        let period_ns = period_ns(found, kept.counted.thread);
        let sample = in_cut(kept, &offsets);
        let stretch = Stretch::around(sample.due_ns, sample.seen_ns(), period_ns);
        let cut = cut(file, survey, stretch, &offsets, sample.cpu);
        largest_ns = largest_ns.max(cut.spread_ns);
        bytes += cut.trace.len();
        spikes.push((spike(number, kept, sample, *reason, &cut), cut.trace));
    }
    spikes.sort_by_key(|(spike, _)| spike.number);
    (spikes, largest_ns)
}

/// The sample by the offsets of its cut: they are constant there, and may differ a little from those nearby.
fn in_cut(kept: &Kept, offsets: &OffsetsAt) -> Sample {
    let sample = kept.counted.sample;
    let seen_ns = kept.raw_seen_ns.saturating_add(offsets.ns(sample.cpu));
    let due_ns = match kept.finished.kind {
        WatchedKind::Timer => sample.due_ns,
        WatchedKind::Woken | WatchedKind::Cycle => seen_ns.saturating_sub(sample.latency_ns),
    };
    Sample { due_ns, latency_ns: seen_ns.saturating_sub(due_ns), ..sample }
}

fn spike(number: u32, kept: &Kept, sample: Sample, reason: SpikeReason, cut: &Cut) -> Spike {
    let newest_ns = cut.coverage.iter().filter_map(|of| of.newest_ns).max().unwrap_or_default();
    let covered = cut.coverage.iter().find(|of| of.cpu == sample.cpu);
    let snapshot = Snapshot {
        mode: SnapshotMode::Auto,
        frozen_ns: newest_ns,
        swap_ns: 0,
        blind_ns: 0,
        coverage: cut.coverage.clone(),
        window_covered: covered.is_some_and(|of| of.oldest_ns <= Some(sample.due_ns)),
        trace_bytes: cut.trace.len() as u64,
        steal_ns: None,
        put_aside_ns: None,
    };
    Spike {
        previous_seen_ns: kept.finished.previous_seen_ns,
        snapshot: Some(snapshot),
        watched: Some(kept.finished.kind),
        ..Spike::new(number, kept.counted.thread, kept.finished.tid, sample, reason)
    }
}

/// How often the thread of a series wakes, on average.
fn period_ns(found: &Found, series: u32) -> i64 {
    let cycles = found.followed.series.get(series as usize).map_or(1, |series| series.totals().cycles.max(1));
    found.span.1.saturating_sub(found.span.0).max(0) / i64::try_from(cycles).unwrap_or(i64::MAX)
}

fn losses(survey: &Survey, found: &Found) -> Vec<Loss> {
    let lost = survey.cpus.iter().filter(|(_, span)| span.lost > 0);
    let events = lost.map(|(cpu, span)| Loss {
        kind: LossKind::Events,
        count: span.lost,
        detail: format!("of CPU {cpu}, by the recorder: wake-ups around them have no sample"),
    });
    let unseen = Loss {
        kind: LossKind::WakeUps,
        count: found.followed.wakeups.unseen,
        detail: "without a sample, because the recording does not show when the thread was given the CPU".into(),
    };
    events.chain([unseen].into_iter().filter(|loss| loss.count > 0)).collect()
}

fn problems(file: &TraceFile<'_>, survey: &Survey, spread_ns: i64, recording: &Recording<'_>) -> Vec<Problem> {
    let mut found: Vec<Problem> = file
        .gaps
        .iter()
        .map(|gap| Problem::new(Severity::Degraded, &RecordingProblem::Damaged(gap.to_string())))
        .collect();
    if let crate::clock::Clock::Converted(_) = survey.clock {
        let clock = file.metadata.clock.clone();
        found.push(Problem::new(Severity::Notice, &RecordingProblem::ClockConverted { clock, spread_ns }));
    }
    if recording.resolution_ns > 1 {
        found.push(Problem::new(Severity::Notice, &RecordingProblem::WholeMicroseconds));
    }
    if recording.unreadable > 0 {
        let count = recording.unreadable;
        found.push(Problem::new(Severity::Degraded, &RecordingProblem::LinesUnreadable(count)));
    }
    found.extend(lacks::advice(survey).map(|advice| Problem::new(Severity::Notice, &advice)));
    found
}

fn watched(survey: &Survey, found: &Found) -> Vec<WatchedSeries> {
    let of = |series: &Series| {
        let facts = survey.threads.get(&series.tid);
        let prio = facts.and_then(|facts| facts.prio);
        let thread = found.followed.wakeups.thread(series.tid);
        let name = facts.map(|facts| facts.comm.clone()).filter(|name| !name.is_empty());
        WatchedSeries {
            thread: series.thread,
            kind: series.kind,
            tid: series.tid,
            name: name.or_else(|| thread.map(|thread| thread.name())).unwrap_or_default(),
            // FIFO and RR look the same in the events.
            policy: prio.filter(|prio| *prio >= 100).map(|_| Policy::Other),
            priority: prio.filter(|prio| (0..100).contains(prio)).map_or(0, |prio| 99 - prio as u8),
            slack_ns_max: thread.map_or(0, |thread| thread.slack_ns_max),
            late_arms: series.late_arms,
            page_faults: None,
            ended: thread.is_some_and(|thread| thread.ended),
        }
    };
    found.followed.series.iter().map(of).collect()
}

fn series_messages(series: &mut Series) -> [Message; 2] {
    let seconds = std::mem::take(&mut series.seconds);
    let thread = Message::Thread {
        thread: series.thread,
        cpu: series.cpu,
        totals: series.totals(),
        histogram: series.histogram(),
        worst: series.take_worst(),
    };
    [Message::Seconds(seconds), thread]
}
