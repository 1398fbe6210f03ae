//! Where a load turned bad or good: the runs on both sides of the turn, and what differs between them.

use crate::Store;
use crate::error::StoreError;
use crate::row::get;
use crate::standing::Standing;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// The last turns of a load.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct BoardState {
    /// The newest good run.
    pub last_good: Option<KernelRun>,
    /// The oldest bad run after that; `None` while the load is good.
    pub first_bad: Option<KernelRun>,
    /// The newest bad run.
    #[serde(default)]
    pub last_bad: Option<KernelRun>,
    /// The oldest good run after that; `None` while the load is bad.
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
    pub latency_max_ns: Option<i64>,
    /// Culprit of its largest spike.
    pub worst_cause: Option<String>,
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
    /// Bad from the first bad run until the next good one.
    pub fn standing(&self) -> Standing {
        match (&self.first_bad, &self.last_good) {
            (Some(_), _) => Standing::Bad,
            (None, Some(_)) => Standing::Good,
            (None, None) => Standing::Undecided,
        }
    }
}

/// Columns of a [`KernelRun`]; `r` is the run.
macro_rules! kernel_run_columns {
    () => {
        "r.digest, r.kernel, r.settings, r.started_unix_ns, r.latency_max_ns, r.worst_cause"
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
    })
}

/// Runs by the key of their scenario.
type ByScenario = BTreeMap<String, KernelRun>;

impl Store {
    pub(super) async fn states(&self) -> Result<BTreeMap<String, BoardState>, StoreError> {
        let mut states: BTreeMap<String, BoardState> = BTreeMap::new();
        for (scenario, run) in self.newest(Standing::Good).await? {
            states.entry(scenario).or_default().last_good = Some(run);
        }
        for (scenario, run) in self.newest(Standing::Bad).await? {
            states.entry(scenario).or_default().last_bad = Some(run);
        }
        for (scenario, run) in self.first_after(Standing::Bad, Standing::Good).await? {
            states.entry(scenario).or_default().first_bad = Some(run);
        }
        for (scenario, run) in self.first_after(Standing::Good, Standing::Bad).await? {
            states.entry(scenario).or_default().first_good = Some(run);
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

    /// The oldest run of this standing after the newest run of the other.
    async fn first_after(&self, standing: Standing, other: Standing) -> Result<ByScenario, StoreError> {
        let sql = concat!(
            "SELECT s.scenario, ",
            kernel_run_columns!(),
            " FROM scenarios s JOIN runs r ON r.digest = (SELECT n.digest FROM runs n WHERE n.scenario = s.scenario \
             AND n.standing = $1 AND n.started_unix_ns > COALESCE((SELECT MAX(o.started_unix_ns) FROM runs o \
             WHERE o.scenario = s.scenario AND o.standing = $2), $3) ORDER BY n.started_unix_ns, n.digest LIMIT 1)"
        );
        let query = sqlx::query(sql).bind(standing.word()).bind(other.word()).bind(i64::MIN);
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
        };
        let before = run("6.12", "s");
        let differs = |first| Differs::between(&before, &first);
        assert_eq!(differs(run("6.13", "t")), Differs::Kernel);
        assert_eq!(differs(run("6.12", "t")), Differs::Settings);
        assert_eq!(differs(run("6.12", "s")), Differs::Neither);
    }
}
