//! Where a figure of a scenario changed its level: found by `judge`, kept with its triage.
//!
//! With each new run the place of a change may move by a few runs; it stays the same change, with the state that people gave it.

mod report;

pub use report::ChangeReport;

use crate::Store;
use crate::actions::{self, Action};
use crate::database::Writing;
use crate::error::StoreError;
use crate::label::hex_of;
use crate::new_rows::NewRows;
use crate::row::{get, json, worded};
use judge::difference::Difference;
use judge::history::{HistoryRun, RUNS_A_SIDE, Series, history};
use serde::{Deserialize, Serialize};
use sqlx::any::AnyRow;
use std::collections::{BTreeMap, BTreeSet};

/// Seed of the permutations, so that the same runs give the same changes.
const SEED: u64 = 1;
/// Differences that are kept with a change.
const DIFFERENCES_MAX: usize = 50;

/// Decision of people about a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "snake_case")]
pub enum Triage {
    New,
    Known,
    Fixed,
    Noise,
}

impl Triage {
    pub const ALL: [Self; 4] = [Self::New, Self::Known, Self::Fixed, Self::Noise];

    /// The one with this word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|triage| triage.word() == word)
    }

    /// As on pages, on the command line and in documents.
    pub fn word(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Known => "known",
            Self::Fixed => "fixed",
            Self::Noise => "noise",
        }
    }
}

/// A change of a figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Change {
    /// Its name; it stays.
    pub change: String,
    pub scenario: String,
    /// Such as `p99.9`.
    pub figure: String,
    /// The last run before and the first run after it.
    pub before_digest: String,
    pub after_digest: String,
    /// The first run at the level after a drift; `None` where the figure changed in one step.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until_digest: Option<String>,
    /// Mean levels, in the unit of the figure: ns for quantiles, events an hour for counts.
    pub level_before: f64,
    pub level_after: f64,
    pub p_value: f64,
    /// Other differences between the two runs: kernel, settings, machine.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<Object>))]
    pub differences: Vec<Difference>,
    /// The change in words.
    pub sentence: String,
    pub triage: Triage,
    pub found_unix_ns: i64,
    /// When it was reported; `None` before.
    pub reported_unix_ns: Option<i64>,
}

/// Each figure, with what the runs show about changes of it.
pub type Sentences = Vec<(String, String)>;

/// The newest runs of a scenario as `judge` compares them.
struct Compared {
    runs: Vec<HistoryRun>,
    /// Position of a run by its digest.
    at: BTreeMap<String, usize>,
}

impl Store {
    /// Looks for changes in the newest runs of a scenario and keeps what is found; [`Store::changes`] has it.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn find_changes(&self, scenario: &str, now_unix_ns: i64) -> Result<Sentences, StoreError> {
        let compared = self.compared(scenario).await?;
        let (all, compared) = tokio::task::spawn_blocking(move || (history(&compared.runs, SEED), compared)).await?;
        let mut writing = self.database.write().await?;
        // Two that look at a scenario at once take turns.
        self.database.lock_scenario(&mut writing, scenario).await?;
        let known = known(&mut writing, scenario).await?;
        let mut confirmed: BTreeSet<String> = BTreeSet::new();
        for found in all.iter().flat_map(|series| found(scenario, series, now_unix_ns)) {
            let same = known.iter().find(|known| !confirmed.contains(&known.change) && compared.is_same(known, &found));
            let change = match same {
                Some(known) => Change {
                    change: known.change.clone(),
                    triage: known.triage,
                    found_unix_ns: known.found_unix_ns,
                    reported_unix_ns: known.reported_unix_ns,
                    ..found
                },
                None => found,
            };
            write(&mut writing, &change).await?;
            confirmed.insert(change.change);
        }
        for gone in known.iter().filter(|known| !confirmed.contains(&known.change) && compared.could_see(known)) {
            // What was reported, or what people looked at, stays.
            let sql = "DELETE FROM changes WHERE change = $1 AND reported_unix_ns IS NULL AND triage = 'new'";
            sqlx::query(sql).bind(&gone.change).execute(&mut *writing.transaction).await?;
        }
        writing.commit().await?;
        Ok(all.into_iter().map(|series| (series.metric.name.to_string(), series.sentence)).collect())
    }

    /// The changes of a scenario, or of all, found last first; at most 10 000.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn changes(&self, scenario: Option<&str>) -> Result<Vec<Change>, StoreError> {
        let sql = "SELECT c.*, c.change AS digest FROM changes c WHERE c.scenario = COALESCE($1, c.scenario) \
                   ORDER BY c.found_unix_ns DESC, c.change LIMIT 10000";
        let rows = sqlx::query(sql).bind(scenario).fetch_all(self.database.pool()).await?;
        rows.iter().map(Change::of).collect()
    }

    /// Keys of all scenarios.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn scenario_keys(&self) -> Result<Vec<String>, StoreError> {
        let rows: Vec<(String,)> =
            sqlx::query_as("SELECT scenario FROM scenarios ORDER BY scenario").fetch_all(self.database.pool()).await?;
        Ok(rows.into_iter().map(|(scenario,)| scenario).collect())
    }

    /// A change by its name, and the board that it is of; `None` if there is none.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn change(&self, change: &str) -> Result<Option<(Change, String)>, StoreError> {
        let sql = "SELECT c.*, c.change AS digest, s.board FROM changes c JOIN scenarios s ON s.scenario = c.scenario \
                   WHERE c.change = $1";
        let row = sqlx::query(sql).bind(change).fetch_optional(self.database.pool()).await?;
        row.as_ref().map(|row| Ok((Change::of(row)?, get(row, "board")?))).transpose()
    }

    /// Records what `who` decided about a change, here and in the log of actions. `false`: there is no such change.
    ///
    /// # Errors
    /// Errors of the database.
    pub async fn triage(&self, change: &str, triage: Triage, who: &str) -> Result<bool, StoreError> {
        let at_unix_ns = self.now_unix_ns().await?;
        let mut writing = self.database.write().await?;
        let query = sqlx::query("UPDATE changes SET triage = $2 WHERE change = $1").bind(change).bind(triage.word());
        let there = query.execute(&mut *writing.transaction).await?.rows_affected() > 0;
        if there {
            let (who, what) = (who.to_owned(), "triage".to_owned());
            let action = Action { at_unix_ns, who, what, subject: change.to_owned(), detail: triage.word().to_owned() };
            actions::write(&mut writing, &action).await?;
        }
        writing.commit().await?;
        Ok(there)
    }

    async fn compared(&self, scenario: &str) -> Result<Compared, StoreError> {
        let runs = self.compared_runs(scenario, i64::MIN, i64::MAX).await?;
        let at = runs.iter().enumerate().map(|(at, run)| (run.archive.clone(), at)).collect();
        Ok(Compared { runs, at })
    }
}

impl Compared {
    /// Whether a change that was found is one that is known already: its place is near.
    fn is_same(&self, known: &Change, found: &Change) -> bool {
        let near = |a: usize, b: usize| a.abs_diff(b) < RUNS_A_SIDE;
        known.figure == found.figure
            && self
                .at
                .get(&known.after_digest)
                .zip(self.at.get(&found.after_digest))
                .is_some_and(|(known, found)| near(*known, *found))
    }

    /// Whether these runs would still show a change: enough of them are on both sides.
    fn could_see(&self, known: &Change) -> bool {
        self.at.get(&known.after_digest).is_some_and(|at| *at >= RUNS_A_SIDE)
    }
}

fn found(scenario: &str, series: &Series, now_unix_ns: i64) -> Vec<Change> {
    let figure = series.metric.name.to_string();
    let change = |change: &judge::history::ChangePoint| {
        let (before, after) = (&series.points[change.at - 1].archive, &series.points[change.at].archive);
        Change {
            change: hex_of(&[scenario, &figure, after])[..32].to_owned(),
            scenario: scenario.to_owned(),
            figure: figure.clone(),
            before_digest: before.clone(),
            after_digest: after.clone(),
            until_digest: change.drift_until.map(|until| series.points[until].archive.clone()),
            level_before: change.before,
            level_after: change.after,
            p_value: change.p_value,
            differences: change.differences.iter().take(DIFFERENCES_MAX).cloned().collect(),
            sentence: change.sentence.clone(),
            triage: Triage::New,
            found_unix_ns: now_unix_ns,
            reported_unix_ns: None,
        }
    };
    series.changes.iter().map(change).collect()
}

async fn known(writing: &mut Writing<'_>, scenario: &str) -> Result<Vec<Change>, StoreError> {
    let sql = "SELECT c.*, c.change AS digest FROM changes c WHERE c.scenario = $1 ORDER BY c.found_unix_ns, c.change";
    let rows = sqlx::query(sql).bind(scenario).fetch_all(&mut *writing.transaction).await?;
    rows.iter().map(Change::of).collect()
}

async fn write(writing: &mut Writing<'_>, change: &Change) -> Result<(), StoreError> {
    let differences = serde_json::to_string(&change.differences).expect("differences have only string keys");
    let row = NewRows::one("changes")
        .set("change", &change.change)
        .set("scenario", &change.scenario)
        .set("figure", &change.figure)
        .set("before_digest", &change.before_digest)
        .set("after_digest", &change.after_digest)
        .set("level_before", change.level_before)
        .set("level_after", change.level_after)
        .set("p_value", change.p_value)
        .set("differences", differences)
        .set("sentence", &change.sentence)
        .set("triage", change.triage.word())
        .set("found_unix_ns", change.found_unix_ns)
        .set("until_digest", &change.until_digest);
    let conflict = "ON CONFLICT (change) DO UPDATE SET before_digest = excluded.before_digest, \
                    after_digest = excluded.after_digest, level_before = excluded.level_before, \
                    level_after = excluded.level_after, p_value = excluded.p_value, differences = excluded.differences, \
                    sentence = excluded.sentence, until_digest = excluded.until_digest";
    row.insert(writing, conflict).await.map(drop)
}

impl Change {
    /// The first run at the level after it.
    pub fn reached(&self) -> &str {
        self.until_digest.as_deref().unwrap_or(&self.after_digest)
    }

    pub(crate) fn of(row: &AnyRow) -> Result<Self, StoreError> {
        Ok(Self {
            change: get(row, "change")?,
            scenario: get(row, "scenario")?,
            figure: get(row, "figure")?,
            before_digest: get(row, "before_digest")?,
            after_digest: get(row, "after_digest")?,
            until_digest: get(row, "until_digest")?,
            level_before: get(row, "level_before")?,
            level_after: get(row, "level_after")?,
            p_value: get(row, "p_value")?,
            differences: json(row, "differences")?,
            sentence: get(row, "sentence")?,
            triage: worded(row, "triage")?,
            found_unix_ns: get(row, "found_unix_ns")?,
            reported_unix_ns: get(row, "reported_unix_ns")?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_word_of_a_triage_is_the_one_in_documents_and_means_it() {
        for triage in Triage::ALL {
            assert_eq!(serde_json::to_value(triage).unwrap(), triage.word());
            assert_eq!(Triage::of(triage.word()), Some(triage));
        }
        assert_eq!(Triage::of("New"), None);
    }
}
