//! SQUAD: the three JSON documents of a submission. Tests contain the verdicts of limits, metrics the figures.

use super::judged_results::JudgedResults;
use crate::json;
use crate::results::{Outcome, RunResults};
use serde_json::{Map, Value, json};

pub const TESTS: JudgedResults = JudgedResults {
    name: "squad-tests",
    about: "SQUAD: what limits decided",
    file_name: "squad-tests.json",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(json::indented(&tests(results))?),
};

pub const METRICS: JudgedResults = JudgedResults {
    name: "squad-metrics",
    about: "SQUAD: figures",
    file_name: "squad-metrics.json",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(json::indented(&metrics(results))?),
};

pub const METADATA: JudgedResults = JudgedResults {
    name: "squad-metadata",
    about: "SQUAD: the machine",
    file_name: "squad-metadata.json",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(json::indented(&metadata(results))?),
};

/// SQUAD's length limit of a `job_id`, which must be unique among the submissions to a build.
const JOB_ID_LETTERS_MAX: usize = 128;

/// `{"suite/test": "pass"}`. A case without a limit is not a test; an unusable one is skipped, not failed.
fn tests(runs: &[RunResults]) -> Value {
    let mut document = Map::new();
    for run in runs {
        for case in &run.cases {
            let result = match case.outcome {
                Outcome::Pass => "pass",
                Outcome::Fail => "fail",
                Outcome::Undecided | Outcome::Error => "skip",
                Outcome::Measured => continue,
            };
            document.insert(format!("{}/{}", run.name, case.name), result.into());
        }
    }
    document.into()
}

/// `{"suite/metric": {"value": 69.0, "unit": "us"}}`: single values, because SQUAD averages lists.
fn metrics(runs: &[RunResults]) -> Value {
    let mut document = Map::new();
    for run in runs {
        for figure in &run.figures {
            let metric = json!({ "value": figure.value, "unit": figure.unit.symbol() });
            document.insert(format!("{}/{}", run.name, figure.name), metric);
        }
    }
    document.into()
}

/// The job and its machine; `job_id` makes the submission unique.
fn metadata(runs: &[RunResults]) -> Value {
    let mut document = Map::new();
    document.insert("job_id".into(), job_id(runs).into());
    for run in runs {
        for (name, value) in run.circumstances() {
            let name = if runs.len() == 1 { name.to_owned() } else { format!("{}/{name}", run.name) };
            document.insert(name, value.into());
        }
    }
    document.into()
}

/// The ids of the runs, or the first with a checksum of all if they exceed SQUAD's column.
fn job_id(runs: &[RunResults]) -> String {
    let ids = runs.iter().map(|run| run.id.as_str()).collect::<Vec<_>>().join("+");
    if ids.chars().count() <= JOB_ID_LETTERS_MAX {
        return ids;
    }
    // FNV-1a.
    let sum =
        ids.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3));
    let end = format!("+{}-{sum:016x}", runs.len() - 1);
    ids.chars().take(JOB_ID_LETTERS_MAX - end.len()).take_while(|letter| *letter != '+').chain(end.chars()).collect()
}
