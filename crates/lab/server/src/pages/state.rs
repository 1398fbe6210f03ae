//! States and verdicts as the pages show them, and when a board is silent.

use judge::step::StepVerdict;
use maud::{Markup, html};
use store::Standing;
use store::queries::fleet::{FleetRow, RecentRun};
use store::queries::run::RunRow;

/// Intervals between runs after which a board without one counts as silent.
const INTERVALS: i64 = 3;
/// Runs that show an interval.
const RUNS_MIN: usize = 4;
const HOUR_NS: i64 = 3_600_000_000_000;

/// The state of a board, by severity.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    Undecided,
    Good,
    Bad,
}

impl State {
    /// As in the style sheet.
    pub fn key(self) -> &'static str {
        match self {
            Self::Undecided => "undecided",
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }

    pub fn words(self) -> &'static str {
        match self {
            Self::Undecided => "no verdict",
            Self::Good => "good",
            Self::Bad => "bad",
        }
    }
}

pub fn of(row: &FleetRow) -> State {
    match (&row.state.first_bad, &row.state.last_good) {
        (Some(_), _) => State::Bad,
        (None, Some(_)) => State::Good,
        (None, None) => State::Undecided,
    }
}

/// A board is as bad as the worst of its loads.
pub fn of_board(rows: &[FleetRow]) -> State {
    rows.iter().map(of).max().unwrap_or(State::Undecided)
}

pub fn standing_key(standing: Standing) -> &'static str {
    match standing {
        Standing::Good => "good",
        Standing::Bad => "bad",
        Standing::Undecided => "undecided",
    }
}

/// A run outside of a plan has no verdict, but a limit over which its wake-ups were counted.
fn verdict_words(run: &RunRow) -> &'static str {
    match (run.verdict, run.standing) {
        (StepVerdict::Measured, Standing::Good) => "within limit",
        (StepVerdict::Measured, Standing::Bad) => "over limit",
        (verdict, _) => verdict.words(),
    }
}

/// The verdict of a run, with what makes its figures doubtful.
pub fn verdict(run: &RunRow) -> Markup {
    html! {
        span.state data-state=(standing_key(run.standing)) { (verdict_words(run)) }
        @if !run.valid { span.mark { "invalid" } } @else if run.degraded { span.mark { "degraded" } }
    }
}

/// Whether a board that reported regularly has stopped: no run for three times its usual interval, at least an hour.
pub fn is_silent(recent: &[RecentRun], now_unix_ns: i64) -> bool {
    let Some(last) = recent.last().filter(|_| recent.len() >= RUNS_MIN) else { return false };
    let mut gaps: Vec<i64> =
        recent.windows(2).map(|pair| pair[1].started_unix_ns.saturating_sub(pair[0].started_unix_ns)).collect();
    gaps.sort_unstable();
    let usual = gaps[gaps.len() / 2].max(HOUR_NS / INTERVALS);
    now_unix_ns.saturating_sub(last.started_unix_ns) > usual.saturating_mul(INTERVALS)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(hours: &[i64]) -> Vec<RecentRun> {
        let run = |hour: &i64| RecentRun {
            digest: String::new(),
            started_unix_ns: hour * HOUR_NS,
            latency_max_ns: None,
            standing: Standing::Good,
        };
        hours.iter().map(run).collect()
    }

    #[test]
    fn a_board_is_silent_after_three_of_its_usual_intervals() {
        let daily = at(&[0, 24, 48, 72, 200, 224]);
        assert!(!is_silent(&daily, (224 + 71) * HOUR_NS));
        assert!(is_silent(&daily, (224 + 73) * HOUR_NS));
        assert!(!is_silent(&at(&[0, 1, 2]), 1000 * HOUR_NS), "three runs show no interval");
        assert!(!is_silent(&[], HOUR_NS));
        assert!(!is_silent(&at(&[0, 0, 0, 0]), HOUR_NS), "runs one after another");
    }
}
