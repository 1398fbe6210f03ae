//! The causes of a run's late wake-ups: in one sentence, and each finding.

use crate::figures::{count, latency};
use crate::new_cause;
use archive::causes::{CauseGroup, Period, Rhythm, RunCauses};
use archive::method::SampleWord;

/// Each cause with the number of its samples, and how many of the captured ones are explained; `None` without a captured one.
pub fn counted(word: SampleWord, causes: &RunCauses) -> Option<String> {
    let spikes = |known: bool| -> u64 {
        causes
            .groups
            .iter()
            .filter(|group| group.culprit.is_some() == known)
            .map(|group| group.spikes.len() as u64)
            .sum()
    };
    let (explained, all) = (spikes(true), spikes(true) + spikes(false));
    let named = causes.groups.iter().filter(|group| group.culprit.is_some());
    let each: Vec<String> =
        named.map(|group| format!("{} {}", count(group.spikes.len() as u64), group.name())).collect();
    let names = if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
    let (explained, captured) = (count(explained), count(all));
    (all > 0).then(|| format!("{explained} of {captured} captured {} {} explained{names}.", word.late, word.many))
}

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
        many(all, &format!("{} {}", word.late, word.one)),
        many(kinds, "cause")
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

fn many(number: usize, what: &str) -> String {
    match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::culprit::Culprit;

    fn group(culprit: Option<Culprit>, spikes: u32) -> CauseGroup {
        CauseGroup {
            culprit,
            title: "not explained".into(),
            spikes: (1..=spikes).collect(),
            latency_ns_max: 1,
            cpus: Vec::new(),
            worst: 0,
            period: None,
            rhythm: String::new(),
        }
    }

    #[test]
    fn unexplained_wake_ups_count_as_captured_only() {
        let groups = vec![group(Some(Culprit::OwnTool), 2), group(Some(Culprit::Workqueue), 1), group(None, 4)];
        let causes = RunCauses { groups, ..RunCauses::default() };
        assert_eq!(
            counted(SampleWord::WAKE_UP, &causes).unwrap(),
            "3 of 7 captured late wake-ups explained: 2 own-tool, 1 workqueue."
        );
        assert_eq!(counted(SampleWord::WAKE_UP, &RunCauses::default()), None);
    }
}
