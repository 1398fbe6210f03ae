//! Every board with what is known of it: the first page.

use super::board_state::{BoardState, KernelRun};
use super::run::{RunRow, run_columns};
use crate::Store;
use crate::error::StoreError;
use crate::row::{count, get, worded};
use crate::standing::Standing;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// Boards, each with its loads and methods; by board, load and method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Fleet {
    pub rows: Vec<FleetRow>,
    /// More rows than an answer holds: 10 000.
    pub cut: bool,
}

/// One load and way to measure on one board.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct FleetRow {
    /// Key of the scenario, and the scenario in words.
    pub scenario: String,
    pub words: String,
    /// The newest run: its kernel, preemption model, verdict and time are those of the board.
    pub newest: RunRow,
    /// Valid runs on the kernel of the newest one. A worst case holds for these samples alone.
    pub coverage: Coverage,
    /// The last 30 runs, oldest first.
    pub recent: Vec<RecentRun>,
    pub state: BoardState,
    /// The state in one word.
    #[serde(default)]
    pub standing: Standing,
}

/// How much the figures rest on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Coverage {
    pub runs: u64,
    pub samples: u64,
    pub measured_ns: i64,
    /// The largest latency of those samples; `None` without samples.
    pub latency_max_ns: Option<i64>,
}

/// A point of a sparkline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct RecentRun {
    pub digest: String,
    pub started_unix_ns: i64,
    /// `None` without samples, and of an invalid run.
    pub latency_max_ns: Option<i64>,
    pub standing: Standing,
}

impl FleetRow {
    /// The newest run with the state of the load: the figure beside a state is of the same run.
    pub fn shown(&self) -> KernelRun {
        let with_state = match self.standing {
            Standing::Bad => self.state.last_bad.clone(),
            Standing::Good | Standing::Held => self.state.last_good.clone(),
            Standing::Undecided => None,
        };
        with_state.unwrap_or_else(|| KernelRun::from(&self.newest))
    }
}

impl Fleet {
    /// The rows of each board.
    pub fn boards(&self) -> impl Iterator<Item = &[FleetRow]> {
        self.rows.chunk_by(|a, b| a.newest.board == b.newest.board)
    }
}

/// A board is as bad as the worst of its loads.
pub fn board_standing(rows: &[FleetRow]) -> Standing {
    rows.iter().map(|row| row.standing).max().unwrap_or_default()
}

const ROWS_MAX: usize = 10_000;

impl Store {
    /// Every board, load and method.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn fleet(&self) -> Result<Fleet, StoreError> {
        let sql = concat!(
            "SELECT ",
            run_columns!(),
            ", s.words, c.runs AS covered_runs, c.samples AS covered_samples, c.measured_ns AS covered_ns, \
             c.latency_max_ns AS covered_max_ns FROM scenarios s \
             JOIN runs r ON r.digest = (SELECT n.digest FROM runs n WHERE n.scenario = s.scenario \
             ORDER BY n.started_unix_ns DESC, n.digest DESC LIMIT 1) \
             LEFT JOIN coverage c ON c.scenario = s.scenario AND c.kernel = r.kernel \
             ORDER BY s.board, s.load, s.method, s.words, s.scenario LIMIT $1"
        );
        let query = sqlx::query(sql).bind(ROWS_MAX as i64 + 1);
        let rows = query.fetch_all(self.database.pool()).await?;
        let (mut recent, mut states) = (self.recent().await?, self.states().await?);
        let fleet_row = |row: &AnyRow| {
            let newest = RunRow::of(row)?;
            let state = states.remove(&newest.scenario).unwrap_or_default();
            Ok(FleetRow {
                scenario: newest.scenario.clone(),
                words: get(row, "words")?,
                coverage: coverage(row)?,
                recent: recent.remove(&newest.scenario).unwrap_or_default(),
                standing: state.standing(),
                state,
                newest,
            })
        };
        let cut = rows.len() > ROWS_MAX;
        let rows: Result<Vec<FleetRow>, StoreError> = rows.iter().take(ROWS_MAX).map(fleet_row).collect();
        Ok(Fleet { rows: rows?, cut })
    }

    async fn recent(&self) -> Result<BTreeMap<String, Vec<RecentRun>>, StoreError> {
        // Both read the newest runs of each scenario from its index; without a word each plans to read all runs.
        let sql = self.database.either(
            "SELECT r.scenario, r.digest, r.started_unix_ns, r.latency_max_ns, r.standing FROM scenarios s \
             CROSS JOIN runs r ON r.scenario = s.scenario AND r.started_unix_ns >= s.recent_from_unix_ns \
             ORDER BY r.scenario, r.started_unix_ns, r.digest",
            "SELECT r.scenario, r.digest, r.started_unix_ns, r.latency_max_ns, r.standing FROM scenarios s \
             CROSS JOIN LATERAL (SELECT * FROM runs n WHERE n.scenario = s.scenario \
             AND n.started_unix_ns >= s.recent_from_unix_ns ORDER BY n.started_unix_ns DESC, n.digest DESC LIMIT 30) r \
             ORDER BY r.scenario, r.started_unix_ns, r.digest",
        );
        let mut recent: BTreeMap<String, Vec<RecentRun>> = BTreeMap::new();
        for row in sqlx::query(sql).fetch_all(self.database.pool()).await? {
            let run = RecentRun {
                digest: get(&row, "digest")?,
                started_unix_ns: get(&row, "started_unix_ns")?,
                latency_max_ns: get(&row, "latency_max_ns")?,
                standing: worded(&row, "standing")?,
            };
            recent.entry(get(&row, "scenario")?).or_default().push(run);
        }
        Ok(recent)
    }
}

/// Absent for a scenario without a valid run on the kernel of its newest one.
fn coverage(row: &AnyRow) -> Result<Coverage, StoreError> {
    if get::<Option<i64>>(row, "covered_runs")?.is_none() {
        return Ok(Coverage::default());
    }
    Ok(Coverage {
        runs: count(row, "covered_runs")?,
        samples: count(row, "covered_samples")?,
        measured_ns: get(row, "covered_ns")?,
        latency_max_ns: get(row, "covered_max_ns")?,
    })
}
