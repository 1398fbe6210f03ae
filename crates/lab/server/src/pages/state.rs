//! States as the pages show them, and when a board is silent.

use maud::{Markup, html};
use store::Standing;
use store::queries::fleet::RecentRun;
use store::queries::run::RunRow;

/// Intervals between runs after which a board without one counts as silent.
const INTERVALS: i64 = 3;
/// Runs that show an interval.
const RUNS_MIN: usize = 4;
const HOUR_NS: i64 = 3_600_000_000_000;

/// A state as every page shows it.
pub fn chip(standing: Standing) -> Markup {
    html! { span.state data-state=(standing.word()) { (standing.word()) } }
}

/// The state of a run, why it is undecided, and what makes its figures doubtful.
pub fn of_run(run: &RunRow) -> Markup {
    html! {
        (chip(run.standing))
        @if let Some(because) = run.standing.undecided_because(run.verdict) { " " span.beside { (because) } }
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
