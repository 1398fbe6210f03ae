//! The outcome of an experiment, and its sentence.

use super::carry_over::{carry_over, may_explain};
use super::enough::Enough;
use super::failures;
use super::{CarryOver, FailureResult, MetricResult, Outcome, PairedRound};

/// The outcome, and its sentence.
pub struct Answer {
    pub outcome: Outcome,
    pub sentence: String,
}

/// Harm counts before anything that is open, and what is open before "better" and "no difference".
pub fn answer(
    rounds: &[PairedRound],
    rows: &[MetricResult],
    enough: &Enough,
    failures: Option<&FailureResult>,
    confidence: f64,
) -> Answer {
    let hidden = enough.not_showable(rows);
    let (shown, decisive) = headline(rows);
    let risk = 1.0 - confidence;
    let order = decisive.iter().filter_map(|row| {
        let order = carry_over(rounds, &row.metric, risk)?;
        let correction = row.p_adjusted / row.p_value;
        let explains =
            if row.differs { may_explain(&order, rounds, &row.metric, correction, risk) } else { order.differs };
        explains.then_some(order)
    });
    let order: Vec<CarryOver> = order.collect();
    let fails = failures.is_some_and(FailureResult::b_is_worse);
    let open = !order.is_empty() || failures.is_some_and(failures::open);
    let outcome = match shown {
        _ if fails => Outcome::Worse,
        Outcome::Worse if order.is_empty() => Outcome::Worse,
        _ if open => Outcome::Undecided,
        _ if !hidden.is_empty() => Outcome::TooFewRounds,
        shown => shown,
    };
    let of_rows = decisive.iter().map(|row| row.sentence.clone());
    let of_rows: Vec<String> = if enough.primary { of_rows.collect() } else { Vec::new() };
    let failures = failures.map(|failures| failures.sentence.clone());
    let parts = failures.into_iter().chain(order.into_iter().take(1).map(|order| order.sentence)).chain(of_rows);
    let few = (outcome != Outcome::Worse && !hidden.is_empty())
        .then(|| words::claims::experiment::too_few(rounds.len(), &hidden, enough.rounds_needed, confidence));
    Answer { outcome, sentence: parts.chain(few).collect::<Vec<_>>().join(" ") }
}

/// The outcome by the figures, and the rows behind it, the deciding one first: the worst row that is shown to be worse, and
/// the primary one.
fn headline(rows: &[MetricResult]) -> (Outcome, Vec<&MetricResult>) {
    let harm = |row: &&MetricResult| row.harm().unwrap_or(0.0);
    let worst = rows.iter().filter(|row| row.harm().is_some()).max_by(|one, other| harm(one).total_cmp(&harm(other)));
    let first = rows.iter().find(|row| row.differs);
    match (worst, first) {
        (Some(worst), Some(first)) if std::ptr::eq(worst, first) => (Outcome::Worse, vec![worst]),
        (Some(worst), Some(first)) if first.harm().is_some() => (Outcome::Worse, vec![first, worst]),
        (Some(worst), first) => (Outcome::Worse, std::iter::once(worst).chain(first).collect()),
        (None, Some(better)) => (Outcome::Better, vec![better]),
        (None, None) => (Outcome::NoDifferenceFound, rows.iter().take(1).collect()),
    }
}
