//! KCIDB, I/O schema 5.3: checkouts, builds, tests, and causes of spikes as issues with incidents.
//!
//! A figure is a test with the status DONE, which is KCIDB's word for a number without a verdict.

use super::naming::word;
use super::{Outcome, RunResults, Unit};
use archive::culprit::Culprit;
use serde_json::{Map, Value, json};
use thiserror::Error;
use words::calendar::civil;

/// The submitter, and what was tested.
#[derive(Debug, Clone)]
pub struct Submission {
    /// Lower-case letters, digits and `_`: the name of the submitting system.
    pub origin: String,
    /// A build known to KCIDB, `origin:id`; otherwise one is derived from the kernel's version.
    pub build_id: Option<String>,
}

/// The required form of origin or build.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum SubmissionError {
    #[error("`{0}` is no origin: it has lower-case letters, digits and _ only")]
    Origin(String),
    #[error("`{0}` is no id of a build; it looks like origin:number")]
    Build(String),
}

impl Submission {
    /// # Errors
    /// [`SubmissionError`].
    pub fn new(origin: &str, build_id: Option<&str>) -> Result<Self, SubmissionError> {
        let plain = |text: &str| {
            !text.is_empty() && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
        };
        if !plain(origin) {
            return Err(SubmissionError::Origin(origin.into()));
        }
        let known = |id: &str| id.split_once(':').is_some_and(|(of, id)| plain(of) && !id.is_empty());
        if let Some(id) = build_id.filter(|id| !known(id)) {
            return Err(SubmissionError::Build(id.into()));
        }
        Ok(Self { origin: origin.into(), build_id: build_id.map(str::to_owned) })
    }
}

/// The document.
pub fn document(runs: &[RunResults], submission: &Submission) -> Value {
    let origin = submission.origin.as_str();
    let mut lists: [Map<String, Value>; 4] = Default::default();
    let [checkouts, builds, issues, incidents] = &mut lists;
    let mut tests = Vec::new();
    for run in runs {
        let build_id = submission.build_id.clone().unwrap_or_else(|| {
            let (id, checkout, build) = kernel(run, origin);
            checkouts.insert(id.clone(), checkout);
            builds.insert(id.clone(), build);
            id
        });
        let run_id = format!("{origin}:{}.{}", run.id, run.name);
        tests.extend(run.cases.iter().map(|case| {
            let status = match case.outcome {
                Outcome::Pass => "PASS",
                Outcome::Fail => "FAIL",
                Outcome::Error => "ERROR",
                Outcome::Undecided => "SKIP",
                Outcome::Measured => "DONE",
            };
            let mut test = test(run, &build_id, origin, &case.name);
            test.insert("status".into(), status.into());
            test.insert("comment".into(), case.sentence.as_str().into());
            Value::from(test)
        }));
        tests.extend(run.figures.iter().map(|figure| {
            let mut test = test(run, &build_id, origin, &figure.name);
            // The reader adds unit prefixes, so the value has none.
            let (value, unit) = match figure.unit {
                Unit::Microseconds => (figure.value / 1e6, "s"),
                Unit::Count => (figure.value, ""),
            };
            let mut number = Map::from_iter([("value".into(), value.into())]);
            if !unit.is_empty() {
                number.insert("unit".into(), unit.into());
                number.insert("prefix".into(), "metric".into());
            }
            test.insert("number".into(), number.into());
            test.insert("status".into(), "DONE".into());
            Value::from(test)
        }));
        for cause in &run.causes {
            let issue_id = format!("{origin}:tardy-{}", cause.culprit);
            let issue = json!({
                "id": issue_id, "version": 1, "origin": origin,
                "categories": [format!("latency.{}", cause.culprit)],
                "culprit": {
                    "code": !matches!(cause.culprit, Culprit::OwnTool | Culprit::Steal),
                    "tool": cause.culprit == Culprit::OwnTool,
                    "harness": cause.culprit == Culprit::Steal,
                },
                "comment": format!("late samples explained by: {}", cause.culprit),
            });
            issues.insert(issue_id.clone(), issue);
            let id = format!("{run_id}.{}", cause.culprit);
            let incident = json!({
                "id": id, "origin": origin, "issue_id": issue_id, "issue_version": 1, "present": true,
                "test_id": format!("{run_id}.measurement"),
                "comment": cause.sentence,
                "misc": { "spikes": cause.spikes, "latency_ns_max": cause.latency_ns_max, "confidence": cause.confidence },
            });
            incidents.insert(id, incident);
        }
    }
    let [checkouts, builds, issues, incidents] = lists.map(|list| list.into_iter().map(|(_, value)| value));
    let mut document = json!({ "version": { "major": 5, "minor": 3 }, "tests": tests });
    for (name, list) in [
        ("checkouts", checkouts.collect::<Vec<_>>()),
        ("builds", builds.collect()),
        ("issues", issues.collect()),
        ("incidents", incidents.collect()),
    ] {
        if !list.is_empty() {
            document[name] = list.into();
        }
    }
    document
}

fn test(run: &RunResults, build_id: &str, origin: &str, name: &str) -> Map<String, Value> {
    let mut misc: Map<String, Value> =
        run.circumstances().into_iter().map(|(name, value)| (name.to_owned(), value.into())).collect();
    misc.extend(run.warning.map(|warning| ("warning".to_owned(), warning.into())));
    let (day, time) = civil(run.started_unix_s());
    let Value::Object(test) = json!({
        "id": format!("{origin}:{}.{}.{name}", run.id, run.name),
        "origin": origin,
        "build_id": build_id,
        "path": format!("tardy.{}.{name}", run.name),
        "start_time": format!("{day}T{time}+00:00"),
        "duration": run.measured_s(),
        "environment": { "comment": format!("target {}", word(&run.summary.target)), "misc": misc },
    }) else {
        return Map::new();
    };
    test
}

/// Id, checkout and build of the kernel that ran, as far as known.
fn kernel(run: &RunResults, origin: &str) -> (String, Value, Value) {
    let environment = run.summary.environment.as_ref();
    let release = environment.map_or("unknown", |environment| environment.kernel_release.as_str());
    let version = environment.map_or("", |environment| environment.kernel_version.as_str());
    let safe = |text: &str| words::printable::printable(text).replace('\0', "");
    let id = format!("{origin}:tardy-{}", safe(&format!("{release} {version}")).trim().replace(' ', "_"));
    let architecture: String = environment
        .map_or("", |environment| environment.architecture.as_str())
        .to_lowercase()
        .chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_')
        .collect();
    let checkout = json!({ "id": id, "origin": origin, "comment": format!("kernel {}", safe(release)) });
    let build = json!({
        "id": id, "checkout_id": id, "origin": origin, "architecture": architecture, "comment": safe(version),
    });
    (id, checkout, build)
}
