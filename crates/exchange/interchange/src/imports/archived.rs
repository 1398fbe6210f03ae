//! Converts a source to an archive: its messages, the effect of rounding on its figures, and what is unknown.

use super::account::{self, Accounted};
use super::problem::{ImportProblem, Lost};
use super::source::{Source, Unit};
use archive::manifest::ImportedFrom;
use archive::message::{Ending, Message, Problem, RunPhase, Severity};
use archive::problem::Remark;

/// The origin of an archive.
pub fn imported_from(source: &Source, file_name: &str, imported_unix_ns: i64) -> ImportedFrom {
    let mut lost = source.lost.clone();
    lost.push(Remark::new(&Lost::MissedPeriods));
    lost.push(Remark::new(&Lost::NegativeLatencies));
    if source.measured.is_none() {
        lost.push(Remark::new(&Lost::Instants));
    }
    ImportedFrom {
        tool: source.tool.clone(),
        version: source.version.clone(),
        file_name: file_name.into(),
        format: source.format.name().into(),
        resolution_ns: source.bucket_units.max(1).saturating_mul(source.unit.ns() as u64),
        clock_spread_ns: None,
        started_unix_ns: source.started_unix_ns,
        ended_unix_ns: source.ended_unix_ns,
        imported_unix_ns,
        measures: source.measures,
        maximum_truncated: source.maximum_truncated,
        lost,
        stated: source.stated.clone(),
    }
}

/// The messages of an archive for the source.
pub fn messages(source: &Source) -> Vec<Message> {
    let accounted = account::threads(source);
    let mut messages = Vec::new();
    messages.extend(source.environment.clone().map(|environment| Message::Environment(Box::new(environment))));
    let phase = |phase, monotonic_ns| Message::Phase { phase, monotonic_ns };
    let measured = source.measured.or(source.length_ns.map(|length| (0, length)));
    messages.extend(measured.map(|(start, _)| phase(RunPhase::Measure, start)));
    messages.extend(measured.map(|(_, end)| phase(RunPhase::Collect, end)));
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
    messages.push(Message::End { ending: Ending::Complete, monotonic_ns: measured.map_or(0, |(_, end)| end) });
    messages
}

/// The effect of the source's rounding on the figures.
fn rounding(source: &Source) -> Vec<Problem> {
    let mut found = Vec::new();
    if source.unit == Unit::Us {
        found.push(ImportProblem::ValuesRounded);
    }
    let means = || source.threads.iter().map(|thread| thread.mean);
    let symbol = source.unit.symbol();
    if means().any(|mean| mean.is_none()) {
        found.push(ImportProblem::MeanComputed);
    }
    match means().flatten().filter_map(|mean| mean.decimals).min() {
        Some(0) => found.push(ImportProblem::MeanRounded { symbol }),
        Some(decimals) => found.push(ImportProblem::MeanDecimals { decimals, symbol }),
        None => {}
    }
    found.iter().map(|problem| Problem::new(Severity::Notice, problem)).collect()
}
