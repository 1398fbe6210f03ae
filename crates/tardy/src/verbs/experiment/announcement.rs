//! The announcement of an experiment: what it compares, how long that takes, and what its rounds can show.

use super::page::{alike, described};
use crate::measuring::rounds::versus::Journal;
use crate::measuring::variant::Variant;
use judge::experiment::{Stopping, rounds_needed};
use std::time::Duration;
use words::calendar::civil;
use words::figures::{counted, duration};

/// The lines before the first round. `now`: time since 1970.
pub fn lines(journal: &Journal, now: Duration) -> Vec<String> {
    let question = &journal.question;
    let left = journal.rounds.rounds_asked.saturating_sub(journal.rounds.complete().count() as u32);
    let mut lines = vec![
        format!("A: {}", described(&question.a)),
        format!("B: {}", described(&question.b)),
        format!("{} of A and B{}", counted(left.into(), "round"), time(journal, left, now)),
    ];
    if alike(&question.a, &question.b) {
        lines.insert(2, "A and B are the same: this measures the noise floor.".into());
    }
    lines.extend(too_few(journal));
    lines
}

/// The time that the rounds take at least, and when they end.
fn time(journal: &Journal, rounds: u32, now: Duration) -> String {
    let Some(round_ns) = length_ns(&journal.question.a).zip(length_ns(&journal.question.b)).map(|(a, b)| a + b) else {
        return ": their runs have no length; Ctrl-C ends each".into();
    };
    let ns = round_ns.saturating_mul(rounds.into());
    let (_, end) = civil(now.saturating_add(Duration::from_nanos(ns)).as_secs());
    let early = if journal.question.until_decided { "; the evidence may end it earlier" } else { "" };
    format!(", at least {}: until {end} UTC or later{early}", duration(ns as i64))
}

/// The time that a run measures, with the time before it, in ns.
fn length_ns(variant: &Variant) -> Option<u64> {
    let settings = &variant.settings;
    let counted = settings.cycles.map(|cycles| cycles.saturating_mul(settings.interval_ns));
    let measured = settings.duration_ns.into_iter().chain(counted).min()?;
    Some(measured.saturating_add(settings.settle_ns))
}

/// The figures that this number of rounds cannot show.
fn too_few(journal: &Journal) -> Option<String> {
    let question = &journal.question;
    let stopping = if question.until_decided { Stopping::UntilDecided } else { Stopping::FixedRounds };
    let needed = rounds_needed(question.metrics.len().saturating_sub(1), journal.confidence, stopping)?;
    let asked = journal.rounds.rounds_asked;
    (asked < needed)
        .then(|| format!("To show a change of any figure takes at least --rounds {needed}; {asked} may not show it."))
}
