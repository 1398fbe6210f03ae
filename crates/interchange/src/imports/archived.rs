//! A source as an archive: its messages, what rounding did to its figures, and what nobody knows any more.

use super::account::{self, Accounted};
use super::source::{Source, Unit};
use archive::manifest::ImportedFrom;
use archive::message::{Ending, Message, Problem, RunPhase, Severity};

/// What an archive says of where it comes from.
pub fn imported_from(source: &Source, file_name: &str, imported_unix_ns: i64) -> ImportedFrom {
    let mut lost = source.lost.clone();
    lost.push("how many periods were missed because a wake-up came late by more than an interval".into());
    lost.push("how many samples had a negative latency because a clock misbehaved".into());
    if source.measured.is_none() {
        lost.push("when each wake-up happened".into());
    }
    ImportedFrom {
        tool: source.tool.clone(),
        version: source.version.clone(),
        file_name: file_name.into(),
        format: source.format.name().into(),
        resolution_ns: source.unit.ns() as u64,
        started_unix_ns: source.started_unix_ns,
        ended_unix_ns: source.ended_unix_ns,
        imported_unix_ns,
        lost,
        stated: source.stated.clone(),
    }
}

/// The messages of an archive that holds the source.
pub fn messages(source: &Source) -> Vec<Message> {
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
