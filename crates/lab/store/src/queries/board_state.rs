//! Where a load turned bad or good: the runs on both sides of the turn, and what differs between them.

use super::run::RunRow;
use crate::Store;
use crate::error::StoreError;
use crate::row::{get, worded};
use crate::standing::Standing;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// The last turns of a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardState {
    /// The newest run that is good or held its limit.
    pub last_good: Option<KernelRun>,
    /// The oldest bad run after that; `None` while the load is good.
    pub first_bad: Option<KernelRun>,
    /// The newest bad run.
    #[serde(default)]
    pub last_bad: Option<KernelRun>,
    /// The oldest run after that which is good or held its limit; `None` while the load is bad.
    #[serde(default)]
    pub first_good: Option<KernelRun>,
}

/// A run on its kernel.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct KernelRun {
    pub digest: String,
    pub kernel: String,
    /// SHA-256 of its settings.
    #[serde(default)]
    pub settings: String,
    pub started_unix_ns: i64,
    /// `None` without samples, and of an invalid run.
    pub latency_max_ns: Option<i64>,
    /// Culprit of its largest spike.
    pub worst_cause: Option<String>,
    #[serde(default)]
    pub standing: Standing,
}

impl KernelRun {
    /// Its place among the runs of a scenario, by time.
    fn place(&self) -> (i64, &str) {
        (self.started_unix_ns, &self.digest)
    }
}

impl From<&RunRow> for KernelRun {
    fn from(run: &RunRow) -> Self {
        Self {
            digest: run.digest.clone(),
            kernel: run.kernel.clone(),
            settings: run.settings.clone(),
            started_unix_ns: run.started_unix_ns,
            latency_max_ns: run.latency_max_ns,
            worst_cause: run.worst_cause.clone(),
            standing: run.standing,
        }
    }
}

/// Differences between two runs of a load, the likeliest reason of a change first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Differs {
    Kernel,
    Settings,
    /// Neither; the machine may.
    Neither,
}

impl Differs {
    /// Between the runs on both sides of a turn.
    pub fn between(before: &KernelRun, first: &KernelRun) -> Self {
        match () {
            () if before.kernel != first.kernel => Self::Kernel,
            () if before.settings != first.settings => Self::Settings,
            () => Self::Neither,
        }
    }

    /// As on pages and on the command line.
    pub fn words(self) -> &'static str {
        match self {
            Self::Kernel => "the kernel differs",
            Self::Settings => "same kernel, other settings",
            Self::Neither => "same kernel, same settings",
        }
    }
}

impl BoardState {
    /// Bad from the first bad run until the next one that is not; otherwise the state of the newest run that has one.
    pub fn standing(&self) -> Standing {
        match (&self.first_bad, &self.last_good) {
            (Some(_), _) => Standing::Bad,
            (None, Some(good)) => good.standing,
            (None, None) => Standing::Undecided,
        }
    }
}

/// Columns of a [`KernelRun`]; `r` is the run.
macro_rules! kernel_run_columns {
    () => {
        "r.digest, r.kernel, r.settings, r.started_unix_ns, r.latency_max_ns, r.worst_cause, r.standing"
    };
}
pub(super) use kernel_run_columns;

pub(super) fn kernel_run(row: &AnyRow) -> Result<KernelRun, StoreError> {
    Ok(KernelRun {
        digest: get(row, "digest")?,
        kernel: get(row, "kernel")?,
        settings: get(row, "settings")?,
        started_unix_ns: get(row, "started_unix_ns")?,
        latency_max_ns: get(row, "latency_max_ns")?,
        worst_cause: get(row, "worst_cause")?,
        standing: worded(row, "standing")?,
    })
}

/// Runs by the key of their scenario.
type ByScenario = BTreeMap<String, KernelRun>;

impl Store {
    pub(super) async fn states(&self) -> Result<BTreeMap<String, BoardState>, StoreError> {
        let mut states: BTreeMap<String, BoardState> = BTreeMap::new();
        for standing in Standing::NOT_BAD {
            for (scenario, run) in self.newest(standing).await? {
                let last = &mut states.entry(scenario).or_default().last_good;
                if last.as_ref().is_none_or(|known| known.place() < run.place()) {
                    *last = Some(run);
                }
            }
        }
        for (scenario, run) in self.newest(Standing::Bad).await? {
            states.entry(scenario).or_default().last_bad = Some(run);
        }
        for (scenario, run) in self.first_after(Standing::Bad, Standing::NOT_BAD).await? {
            states.entry(scenario).or_default().first_bad = Some(run);
        }
        for standing in Standing::NOT_BAD {
            for (scenario, run) in self.first_after(standing, [Standing::Bad; 2]).await? {
                let first = &mut states.entry(scenario).or_default().first_good;
                if first.as_ref().is_none_or(|known| run.place() < known.place()) {
                    *first = Some(run);
                }
            }
        }
        Ok(states)
    }

    /// The newest run of this standing.
    async fn newest(&self, standing: Standing) -> Result<ByScenario, StoreError> {
        let sql = concat!(
            "SELECT s.scenario, ",
            kernel_run_columns!(),
            " FROM scenarios s JOIN runs r ON r.digest = (SELECT n.digest FROM runs n WHERE n.scenario = s.scenario \
             AND n.standing = $1 ORDER BY n.started_unix_ns DESC, n.digest DESC LIMIT 1)"
        );
        by_scenario(&sqlx::query(sql).bind(standing.word()).fetch_all(self.database.pool()).await?)
    }

    /// The oldest run of this standing after the newest run of each of the others.
    async fn first_after(&self, standing: Standing, others: [Standing; 2]) -> Result<ByScenario, StoreError> {
        let sql = concat!(
            "SELECT s.scenario, ",
            kernel_run_columns!(),
            " FROM scenarios s JOIN runs r ON r.digest = (SELECT n.digest FROM runs n WHERE n.scenario = s.scenario \
             AND n.standing = $1 AND n.started_unix_ns > COALESCE((SELECT MAX(o.started_unix_ns) FROM runs o \
             WHERE o.scenario = s.scenario AND o.standing = $2), $4) \
             AND n.started_unix_ns > COALESCE((SELECT MAX(p.started_unix_ns) FROM runs p \
             WHERE p.scenario = s.scenario AND p.standing = $3), $4) ORDER BY n.started_unix_ns, n.digest LIMIT 1)"
        );
        let [one, other] = others.map(Standing::word);
        let query = sqlx::query(sql).bind(standing.word()).bind(one).bind(other).bind(i64::MIN);
        by_scenario(&query.fetch_all(self.database.pool()).await?)
    }
}

fn by_scenario(rows: &[AnyRow]) -> Result<ByScenario, StoreError> {
    rows.iter().map(|row| Ok((get(row, "scenario")?, kernel_run(row)?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likeliest_reason_of_a_turn_is_named_first() {
        let run = |kernel: &str, settings: &str| KernelRun {
            digest: String::new(),
            kernel: kernel.into(),
            settings: settings.into(),
            started_unix_ns: 0,
            latency_max_ns: None,
            worst_cause: None,
            standing: Standing::Undecided,
        };
        let before = run("6.12", "s");
        let differs = |first| Differs::between(&before, &first);
        assert_eq!(differs(run("6.13", "t")), Differs::Kernel);
        assert_eq!(differs(run("6.12", "t")), Differs::Settings);
        assert_eq!(differs(run("6.12", "s")), Differs::Neither);
    }
}
