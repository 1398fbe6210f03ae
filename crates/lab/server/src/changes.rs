//! Changes over the runs of a scenario: kernels, settings, and the changes that the index keeps.

use crate::pages::picture::time::{Change, Events, KernelStretch};
use store::changes;
use store::queries::run::RunRow;

/// A change of one figure, between two of the runs shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Found {
    /// As on the picture, from 1; changes of several figures at the same run have one number.
    pub number: usize,
    pub at_unix_ns: i64,
    pub change: changes::Change,
}

/// The changes whose first run after is one of `runs`, by time.
pub fn among(runs: &[&RunRow], changes: &[changes::Change]) -> Vec<Found> {
    let of = |change: &changes::Change| {
        let after = runs.iter().find(|run| run.digest == change.after_digest)?;
        Some(Found { number: 0, at_unix_ns: after.started_unix_ns, change: change.clone() })
    };
    let mut found: Vec<Found> = changes.iter().filter_map(of).collect();
    found.sort_by(|a, b| (a.at_unix_ns, &a.change.figure).cmp(&(b.at_unix_ns, &b.change.figure)));
    let mut instants: Vec<i64> = found.iter().map(|found| found.at_unix_ns).collect();
    instants.dedup();
    for found in &mut found {
        found.number = instants.partition_point(|at| *at < found.at_unix_ns) + 1;
    }
    found
}

/// Events of a board over these runs, oldest first. `until_unix_ns` ends the last kernel.
pub fn events(runs: &[&RunRow], found: &[Found], until_unix_ns: i64) -> Events {
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
        found.iter().map(|found| Change { number: found.number, at_unix_ns: found.at_unix_ns }).collect();
    changes.dedup();
    Events { kernels, settings, changes }
}
