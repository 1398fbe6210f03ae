//! Changes in a lab since an instant, for the first page.

use super::board_state::{KernelRun, kernel_run, kernel_run_columns};
use super::fleet::{Fleet, FleetRow};
use super::silence::SilentBoard;
use crate::Store;
use crate::error::StoreError;
use crate::queue::Job;
use crate::queue::job_columns;
use crate::record::{NO_TRACE, NOT_EXPLAINED};
use crate::row::{count, get};
use crate::standing::Standing;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// Rows that an answer reads at most.
const ROWS_MAX: i64 = 10_000;

/// Changes, by the starts of runs and the ends of jobs.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct News {
    pub since_unix_ns: i64,
    /// Loads whose first bad run after the last good or held one is new, the largest latency first.
    pub newly_bad: Vec<Turn>,
    /// Loads whose first good or held run after the last bad one is new.
    pub newly_good: Vec<Turn>,
    /// Causes that the board did not have before.
    pub new_culprits: Vec<NewCulprit>,
    /// Latencies larger than any of the load's earlier runs on the same kernel line.
    pub new_maxima: Vec<NewMaximum>,
    /// Boards without a run for three of their usual intervals, however long ago that began.
    pub silent: Vec<SilentBoard>,
    pub failed_jobs: Vec<Job>,
}

/// A load that became bad or good.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Turn {
    pub board: String,
    pub load: String,
    pub scenario: String,
    /// The last run before the turn; `None` if there is none.
    pub before: Option<KernelRun>,
    /// The first run after it.
    pub first: KernelRun,
    /// The newest run with the state of the load.
    pub last: KernelRun,
}

/// A cause that a board did not have before.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewCulprit {
    pub board: String,
    pub culprit: String,
    pub load: String,
    pub spikes: u64,
    pub latency_max_ns: i64,
    /// The run with the largest spike of this cause.
    pub run: KernelRun,
}

/// A latency beyond all earlier ones.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewMaximum {
    pub board: String,
    pub load: String,
    pub scenario: String,
    pub kernel_line: String,
    pub before_max_ns: i64,
    pub latency_max_ns: i64,
    pub run: KernelRun,
}

impl Store {
    /// Changes in a lab since an instant.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn news(&self, fleet: &Fleet, since_unix_ns: i64, now_unix_ns: i64) -> Result<News, StoreError> {
        Ok(News {
            since_unix_ns,
            newly_bad: turns(fleet, became_bad, since_unix_ns),
            newly_good: turns(fleet, became_good, since_unix_ns),
            new_culprits: self.new_culprits(since_unix_ns).await?,
            new_maxima: self.new_maxima(since_unix_ns).await?,
            silent: SilentBoard::all(fleet, now_unix_ns),
            failed_jobs: self.failed_jobs(since_unix_ns).await?,
        })
    }

    async fn new_culprits(&self, since_unix_ns: i64) -> Result<Vec<NewCulprit>, StoreError> {
        let sql = concat!(
            "SELECT s.board, s.load, c.culprit, c.spikes, c.latency_max_ns AS of_cause_ns, ",
            kernel_run_columns!(),
            " FROM runs r JOIN causes c ON c.digest = r.digest JOIN scenarios s ON s.scenario = r.scenario \
             WHERE r.started_unix_ns >= $1 AND r.valid = 1 AND c.culprit <> $2 AND c.culprit <> $3 \
             AND EXISTS (SELECT 1 FROM scenarios t JOIN runs e ON e.scenario = t.scenario \
             WHERE t.board = s.board AND e.started_unix_ns < $1) \
             AND NOT EXISTS (SELECT 1 FROM scenarios t JOIN runs e ON e.scenario = t.scenario \
             JOIN causes p ON p.digest = e.digest \
             WHERE t.board = s.board AND e.started_unix_ns < $1 AND p.culprit = c.culprit) \
             ORDER BY c.latency_max_ns DESC, r.digest LIMIT $4"
        );
        let query = sqlx::query(sql).bind(since_unix_ns).bind(NOT_EXPLAINED).bind(NO_TRACE).bind(ROWS_MAX);
        let mut found: Vec<NewCulprit> = Vec::new();
        let mut place: BTreeMap<(String, String), usize> = BTreeMap::new();
        for row in query.fetch_all(self.database.pool()).await? {
            let one = new_culprit(&row)?;
            match place.get(&(one.board.clone(), one.culprit.clone())) {
                // The largest spike came first.
                Some(at) => found[*at].spikes = found[*at].spikes.saturating_add(one.spikes),
                None => {
                    place.insert((one.board.clone(), one.culprit.clone()), found.len());
                    found.push(one);
                }
            }
        }
        Ok(found)
    }

    async fn new_maxima(&self, since_unix_ns: i64) -> Result<Vec<NewMaximum>, StoreError> {
        let sql = concat!(
            "SELECT s.board, s.load, r.scenario, r.kernel_line, (SELECT MAX(e.latency_max_ns) FROM runs e \
             WHERE e.scenario = r.scenario AND e.kernel_line = r.kernel_line AND e.valid = 1 \
             AND e.started_unix_ns < $1) AS before_max_ns, ",
            kernel_run_columns!(),
            " FROM runs r JOIN scenarios s ON s.scenario = r.scenario WHERE r.started_unix_ns >= $1 AND r.valid = 1 \
             AND r.latency_max_ns IS NOT NULL ORDER BY r.latency_max_ns DESC, r.digest LIMIT $2"
        );
        let query = sqlx::query(sql).bind(since_unix_ns).bind(ROWS_MAX);
        let mut largest: BTreeMap<(String, String), NewMaximum> = BTreeMap::new();
        for row in query.fetch_all(self.database.pool()).await? {
            if let Some(one) = new_maximum(&row)? {
                largest.entry((one.scenario.clone(), one.kernel_line.clone())).or_insert(one);
            }
        }
        let mut found: Vec<NewMaximum> = largest.into_values().collect();
        found.sort_by(|a, b| b.growth().total_cmp(&a.growth()).then_with(|| a.board.cmp(&b.board)));
        Ok(found)
    }

    async fn failed_jobs(&self, since_unix_ns: i64) -> Result<Vec<Job>, StoreError> {
        let sql = concat!(
            "SELECT ",
            job_columns!(),
            " FROM jobs WHERE state = 'failed' AND ended_unix_ns >= $1 ORDER BY ended_unix_ns DESC, job LIMIT $2"
        );
        let query = sqlx::query(sql).bind(since_unix_ns).bind(ROWS_MAX);
        query.fetch_all(self.database.pool()).await?.iter().map(Job::of).collect()
    }
}

impl NewMaximum {
    /// The new maximum as a multiple of the earlier one.
    fn growth(&self) -> f64 {
        self.latency_max_ns as f64 / self.before_max_ns.max(1) as f64
    }
}

/// The last run before a turn, if there is one, and the first after it.
type Sides<'a> = (Option<&'a KernelRun>, &'a KernelRun);

fn became_bad(row: &FleetRow) -> Option<Sides<'_>> {
    let first = row.state.first_bad.as_ref().filter(|_| row.standing == Standing::Bad)?;
    Some((row.state.last_good.as_ref(), first))
}

fn became_good(row: &FleetRow) -> Option<Sides<'_>> {
    let before = row.state.last_bad.as_ref().filter(|_| row.standing.is_not_bad())?;
    Some((Some(before), row.state.first_good.as_ref()?))
}

/// Loads with a turn whose first run is after an instant.
fn turns(fleet: &Fleet, sides: fn(&FleetRow) -> Option<Sides<'_>>, since_unix_ns: i64) -> Vec<Turn> {
    let turn = |row: &FleetRow| {
        let (before, first) = sides(row).filter(|(_, first)| first.started_unix_ns >= since_unix_ns)?;
        let run = &row.newest;
        Some(Turn {
            board: run.board.clone(),
            load: run.load.clone(),
            scenario: row.scenario.clone(),
            before: before.cloned(),
            first: first.clone(),
            last: row.shown(),
        })
    };
    let mut found: Vec<Turn> = fleet.rows.iter().filter_map(turn).collect();
    found.sort_by_key(|turn| std::cmp::Reverse(turn.first.latency_max_ns));
    found
}

fn new_culprit(row: &AnyRow) -> Result<NewCulprit, StoreError> {
    Ok(NewCulprit {
        board: get(row, "board")?,
        culprit: get(row, "culprit")?,
        load: get(row, "load")?,
        spikes: count(row, "spikes")?,
        latency_max_ns: get(row, "of_cause_ns")?,
        run: kernel_run(row)?,
    })
}

/// `None` if the run exceeds no earlier one, or is among the first on its kernel line.
fn new_maximum(row: &AnyRow) -> Result<Option<NewMaximum>, StoreError> {
    let run = kernel_run(row)?;
    let before: Option<i64> = get(row, "before_max_ns")?;
    let Some((before_max_ns, latency_max_ns)) = before.zip(run.latency_max_ns).filter(|(before, now)| now > before)
    else {
        return Ok(None);
    };
    Ok(Some(NewMaximum {
        board: get(row, "board")?,
        load: get(row, "load")?,
        scenario: get(row, "scenario")?,
        kernel_line: get(row, "kernel_line")?,
        before_max_ns,
        latency_max_ns,
        run,
    }))
}
