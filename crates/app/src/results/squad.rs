//! SQUAD: the three JSON documents of a submission. Tests hold what a limit decided, metrics the figures.

use super::{Outcome, RunResults};
use serde_json::{Map, Value, json};

/// `{"suite/test": "pass"}`. What no limit decides is no test; what cannot be used is skipped, not failed.
pub fn tests(runs: &[RunResults]) -> Value {
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

/// `{"suite/metric": {"value": 69.0, "unit": "us"}}`: single values, because SQUAD makes a mean of lists.
pub fn metrics(runs: &[RunResults]) -> Value {
    let mut document = Map::new();
    for run in runs {
        for figure in &run.figures {
            let metric = json!({ "value": figure.value, "unit": figure.unit.symbol() });
            document.insert(format!("{}/{}", run.name, figure.name), metric);
        }
    }
    document.into()
}

/// What was measured and where; `job_id` makes the submission unique.
pub fn metadata(runs: &[RunResults]) -> Value {
    let mut document = Map::new();
    let ids: Vec<&str> = runs.iter().map(|run| run.summary.id.as_str()).collect();
    document.insert("job_id".into(), ids.join("+").into());
    for run in runs {
        for (name, value) in run.circumstances() {
            let name = if runs.len() == 1 { name.to_owned() } else { format!("{}/{name}", run.name) };
            document.insert(name, value.into());
        }
    }
    document.into()
}
