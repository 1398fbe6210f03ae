//! What changed over the runs of a scenario: kernels, settings, and the change points that `judge` finds.

use crate::pages::picture::time::{Change, Events, KernelStretch};
use judge::history::{ChangePoint, HistoryRun, Series, history};
use store::queries::run::RunRow;

/// Seed of the permutations, so that the same runs give the same changes here and in `tardy history`.
const SEED: u64 = 1;

/// A change of one figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// As on the picture, from 1; changes of several figures at the same run have one number.
    pub number: usize,
    pub at_unix_ns: i64,
    pub figure: String,
    pub change: ChangePoint,
    /// Digest of the last run before and of the first one after.
    pub before: Option<String>,
    pub after: Option<String>,
}

/// What `judge` finds in the runs of one scenario.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Analysis {
    /// By time.
    pub found: Vec<Found>,
    /// For each figure, what can be said about changes.
    pub sentences: Vec<(String, String)>,
}

/// Looks for changes. It takes a while for hundreds of runs. `HistoryRun::archive` is the digest of the run.
pub fn analysed(runs: &[HistoryRun]) -> Analysis {
    let series = history(runs, SEED);
    let mut found: Vec<Found> = series.iter().flat_map(of_series).collect();
    found.sort_by_key(|found| found.at_unix_ns);
    let mut instants: Vec<i64> = found.iter().map(|found| found.at_unix_ns).collect();
    instants.dedup();
    for found in &mut found {
        found.number = instants.partition_point(|at| *at < found.at_unix_ns) + 1;
    }
    let sentences = series.into_iter().map(|series| (series.metric.name.to_string(), series.sentence)).collect();
    Analysis { found, sentences }
}

fn of_series(series: &Series) -> impl Iterator<Item = Found> + '_ {
    series.changes.iter().map(|change| {
        let digest = |at: usize| series.points.get(at).map(|point| point.archive.clone());
        let started = series.points.get(change.at).and_then(|point| point.started_unix_ns);
        Found {
            number: 0,
            at_unix_ns: started.unwrap_or_default(),
            figure: series.metric.name.to_string(),
            change: change.clone(),
            before: change.at.checked_sub(1).and_then(digest),
            after: digest(change.at),
        }
    })
}

/// What happened to a board over these runs, oldest first. `until_unix_ns` ends the last kernel.
pub fn events(runs: &[&RunRow], analysis: &Analysis, until_unix_ns: i64) -> Events {
    let mut kernels: Vec<KernelStretch> = Vec::new();
    let mut settings = Vec::new();
    let mut before: Option<&RunRow> = None;
    for run in runs {
        if before.is_none_or(|before| before.kernel != run.kernel) {
            if let Some(last) = kernels.last_mut() {
                last.until_unix_ns = run.started_unix_ns;
            }
            let (kernel, from_unix_ns) = (run.kernel.clone(), run.started_unix_ns);
            kernels.push(KernelStretch { kernel, from_unix_ns, until_unix_ns });
        }
        if before.is_some_and(|before| before.settings != run.settings) {
            settings.push(run.started_unix_ns);
        }
        before = Some(run);
    }
    let mut changes: Vec<Change> =
        analysis.found.iter().map(|found| Change { number: found.number, at_unix_ns: found.at_unix_ns }).collect();
    changes.dedup();
    Events { kernels, settings, changes }
}
