//! Boards that reported regularly and stopped.

use super::fleet::{Fleet, FleetRow, RecentRun};
use serde::{Deserialize, Serialize};

/// Intervals between runs after which a load without one counts as silent.
const INTERVALS: i64 = 3;
/// Runs that show an interval.
const RUNS_MIN: usize = 4;
const HOUR_NS: i64 = 3_600_000_000_000;

/// A board whose every load is silent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct SilentBoard {
    pub board: String,
    /// Start of its last run.
    pub last_unix_ns: i64,
    /// When the run after it was overdue.
    pub since_unix_ns: i64,
}

impl SilentBoard {
    /// The silent boards, the one that became silent last first.
    pub fn all(fleet: &Fleet, now_unix_ns: i64) -> Vec<Self> {
        let mut silent: Vec<Self> = fleet.boards().filter_map(|rows| Self::of(rows, now_unix_ns)).collect();
        silent.sort_by(|a, b| b.since_unix_ns.cmp(&a.since_unix_ns).then_with(|| a.board.cmp(&b.board)));
        silent
    }

    fn of(rows: &[FleetRow], now_unix_ns: i64) -> Option<Self> {
        let since: Option<Vec<i64>> = rows.iter().map(|row| silent_since(&row.recent, now_unix_ns)).collect();
        Some(Self {
            board: rows.first()?.newest.board.clone(),
            last_unix_ns: rows.iter().map(|row| row.newest.started_unix_ns).max()?,
            since_unix_ns: since?.into_iter().max()?,
        })
    }
}

/// When a load that was measured regularly became silent: three of its usual intervals, at least an hour, after its last run.
/// `None` if it is not silent, or too few runs show an interval.
pub fn silent_since(recent: &[RecentRun], now_unix_ns: i64) -> Option<i64> {
    let last = recent.last().filter(|_| recent.len() >= RUNS_MIN)?;
    let mut gaps: Vec<i64> =
        recent.windows(2).map(|pair| pair[1].started_unix_ns.saturating_sub(pair[0].started_unix_ns)).collect();
    gaps.sort_unstable();
    let usual = gaps[gaps.len() / 2].max(HOUR_NS / INTERVALS);
    Some(last.started_unix_ns.saturating_add(usual.saturating_mul(INTERVALS))).filter(|since| *since < now_unix_ns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Standing;

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
    fn a_load_is_silent_after_three_of_its_usual_intervals() {
        let daily = at(&[0, 24, 48, 72, 200, 224]);
        assert_eq!(silent_since(&daily, (224 + 71) * HOUR_NS), None);
        assert_eq!(silent_since(&daily, (224 + 73) * HOUR_NS), Some((224 + 72) * HOUR_NS));
        assert_eq!(silent_since(&at(&[0, 1, 2]), 1000 * HOUR_NS), None, "three runs show no interval");
        assert_eq!(silent_since(&[], HOUR_NS), None);
        assert_eq!(silent_since(&at(&[0, 0, 0, 0]), HOUR_NS), None, "runs one after another");
    }
}
