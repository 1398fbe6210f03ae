//! Which raw traces may go: histograms, verdicts and figures stay for ever, traces only where an analysis may need them.

use crate::Store;
use crate::error::StoreError;
use crate::row::{count, get};
use crate::standing::Standing;
use judge::step::StepVerdict;
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::BTreeMap;

/// The rules of a store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retention {
    /// Runs that started later than this keep everything.
    pub everything_since_unix_ns: i64,
}

/// Why the raw traces of a run stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KeptBecause {
    /// It is younger than the rules ask for.
    Recent,
    /// A user pinned it, or an incident cites it.
    Pinned,
    /// It failed a limit, is not valid, or could not be judged.
    Failure,
    /// It is later than every earlier run of its scenario on its kernel line.
    NewMaximum,
    /// A figure changed before or after it.
    ChangePoint,
}

/// A run whose raw traces nothing needs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Prunable {
    pub digest: String,
    pub id: String,
    pub board: String,
    pub started_unix_ns: i64,
    /// Bytes of the whole archive.
    pub bytes: u64,
    pub(crate) location: String,
}

/// A row as far as the rules read it.
struct Candidate {
    run: Prunable,
    line: (String, String),
    latency_max_ns: Option<i64>,
    failed: bool,
    pinned: bool,
    changed: bool,
}

impl Store {
    /// The runs whose raw traces may be removed, oldest first, and how many stay for each reason; removed ones are in
    /// neither.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn prunable(
        &self,
        retention: Retention,
    ) -> Result<(Vec<Prunable>, BTreeMap<KeptBecause, u64>), StoreError> {
        let sql = "SELECT r.digest, r.id, s.board, r.location, r.bytes, r.started_unix_ns, r.scenario, r.kernel_line, \
                   r.latency_max_ns, r.valid, r.verdict, r.standing, r.pinned, r.pruned_unix_ns, \
                   CASE WHEN EXISTS (SELECT 1 FROM changes c WHERE c.before_digest = r.digest OR c.after_digest = r.digest \
                   OR c.until_digest = r.digest) \
                   THEN 1 ELSE 0 END AS changed \
                   FROM runs r JOIN scenarios s ON s.scenario = r.scenario ORDER BY r.started_unix_ns, r.digest";
        let mut maxima: BTreeMap<(String, String), i64> = BTreeMap::new();
        let mut prunable = Vec::new();
        let mut kept: BTreeMap<KeptBecause, u64> = BTreeMap::new();
        for row in sqlx::query(sql).fetch_all(self.database.pool()).await? {
            let pruned = get::<Option<i64>>(&row, "pruned_unix_ns")?.is_some();
            let candidate = candidate(&row)?;
            // Maxima of removed runs still count.
            let because = stays(&candidate, &mut maxima, retention);
            match because {
                _ if pruned => {}
                Some(because) => *kept.entry(because).or_default() += 1,
                None => prunable.push(candidate.run),
            }
        }
        Ok((prunable, kept))
    }
}

fn candidate(row: &AnyRow) -> Result<Candidate, StoreError> {
    let (verdict, standing): (StepVerdict, Standing) =
        (crate::row::worded(row, "verdict")?, crate::row::worded(row, "standing")?);
    Ok(Candidate {
        run: Prunable {
            digest: get(row, "digest")?,
            id: get(row, "id")?,
            board: get(row, "board")?,
            started_unix_ns: get(row, "started_unix_ns")?,
            bytes: count(row, "bytes")?,
            location: get(row, "location")?,
        },
        line: (get(row, "scenario")?, get(row, "kernel_line")?),
        latency_max_ns: get(row, "latency_max_ns")?,
        failed: standing == Standing::Bad
            || get::<i64>(row, "valid")? == 0
            || matches!(verdict, StepVerdict::Fail | StepVerdict::Error),
        pinned: get::<i64>(row, "pinned")? > 0,
        changed: get::<i64>(row, "changed")? > 0,
    })
}

fn stays(
    candidate: &Candidate,
    maxima: &mut BTreeMap<(String, String), i64>,
    retention: Retention,
) -> Option<KeptBecause> {
    let highest = maxima.entry(candidate.line.clone()).or_insert(i64::MIN);
    let new_maximum = candidate.latency_max_ns.is_some_and(|ns| ns > *highest);
    *highest = (*highest).max(candidate.latency_max_ns.unwrap_or(i64::MIN));
    let reasons = [
        (candidate.pinned, KeptBecause::Pinned),
        (candidate.run.started_unix_ns > retention.everything_since_unix_ns, KeptBecause::Recent),
        (candidate.failed, KeptBecause::Failure),
        (new_maximum, KeptBecause::NewMaximum),
        (candidate.changed, KeptBecause::ChangePoint),
    ];
    reasons.into_iter().find(|(holds, _)| *holds).map(|(_, because)| because)
}
