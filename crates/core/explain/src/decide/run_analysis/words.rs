//! The findings of a run as sentences.

use super::period::Rhythm;
use archive::causes::{CauseGroup, Period, RunCauses};
use archive::method::SampleWord;
use words::figures::latency;
use words::new_cause;

/// A rhythm in words; empty if there is none to report.
pub fn rhythm(rhythm: &Rhythm) -> String {
    match rhythm {
        Rhythm::Period(period) => every(period),
        Rhythm::OfTheRecorder => "not reported: more spikes than snapshots, so the times reflect the recorder".into(),
        Rhythm::TooFew => "too few to show a rhythm".into(),
        Rhythm::None => String::new(),
    }
}

fn every(period: &Period) -> String {
    let known = match period.known_as.as_str() {
        "" => String::new(),
        name => format!(", the period of {name}"),
    };
    format!(
        "every {}{known}: seen {} times; random instants look so regular in less than {} of runs",
        length(period.period_ns),
        period.times,
        rounded_up(period.p)
    )
}

/// A period to four digits: `1.004 s`, `250.0 ms`.
fn length(ns: i64) -> String {
    if ns >= 1_000_000_000 { format!("{:.3} s", ns as f64 / 1e9) } else { format!("{:.1} ms", ns as f64 / 1e6) }
}

fn rounded_up(p: f64) -> &'static str {
    match p {
        ..1e-6 => "a millionth",
        ..1e-4 => "a ten thousandth",
        _ => "a thousandth",
    }
}

/// The findings, most important first.
pub fn sentences(causes: &RunCauses, word: SampleWord) -> Vec<String> {
    let mut sentences = Vec::new();
    let all: usize = causes.groups.iter().map(|group| group.spikes.len()).sum();
    let explained: usize = known(causes).map(|group| group.spikes.len()).sum();
    let kinds = known(causes).count();
    sentences.push(format!(
        "{explained} of {} with a trace are explained, by {}",
        count(all, &format!("{} {}", word.late, word.one)),
        count(kinds, "cause")
    ));
    if causes.worst_samples > 0 {
        sentences.push(format!(
            "of the {} worst {} {} have a trace; the causes of the others are unknown",
            causes.worst_samples, word.many, causes.worst_with_trace
        ));
    }
    sentences.extend(causes.new_cause.iter().map(|seen| new_cause::clause(word, seen, 0.95)));
    if let Some(composed) = &causes.composed {
        let parts: Vec<String> = composed
            .parts
            .iter()
            .map(|part| format!("{} {} of spike {}", latency(part.ns), part.phase.title(), part.spike))
            .collect();
        sentences.push(format!(
            "hypothetical worst case: {} if the worst phases of different {} met in one ({}); whether they can meet, or \
             worse ones occur, is unknown",
            latency(composed.ns),
            word.many,
            parts.join(", ")
        ));
    }
    sentences
}

fn known(causes: &RunCauses) -> impl Iterator<Item = &CauseGroup> {
    causes.groups.iter().filter(|group| group.culprit.is_some())
}

fn count(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}
