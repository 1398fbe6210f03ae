//! KCIDB, I/O schema 5.3: checkouts, builds, tests, and causes of spikes as issues with incidents.
//!
//! A figure is a test with the status DONE, which is KCIDB's word for a number without a verdict.

use super::judged_results::JudgedResults;
use super::{ExportOption, OptionForm, OptionValue};
use crate::json;
use crate::results::naming::word;
use crate::results::{Outcome, RunResults, Unit};
use archive::culprit::Culprit;
use serde_json::{Map, Value, json};
use words::calendar::civil;

const ORIGIN: ExportOption = ExportOption {
    name: "origin",
    about: "the name of the system that submits",
    value: OptionValue::Text { placeholder: "NAME", default: Some("tardy"), check: origin_form },
};

/// A build known to KCIDB; otherwise one is derived from the kernel's version.
const BUILD_ID: ExportOption = ExportOption {
    name: "build-id",
    about: "the id of a build that KCIDB knows, like origin:123",
    value: OptionValue::Text { placeholder: "ID", default: None, check: build_id_form },
};

pub const KCIDB: JudgedResults = JudgedResults {
    name: "kcidb",
    about: "KCIDB's I/O schema 5.3",
    file_name: "kcidb.json",
    takes_several: true,
    options: &[&ORIGIN, &BUILD_ID],
    document: |input, results| {
        let (origin, build_id) = (input.options.text(&ORIGIN), input.options.text(&BUILD_ID));
        Ok(json::indented(&document(results, origin.unwrap_or_default(), build_id))?)
    },
};

fn is_origin(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_lowercase() || it.is_ascii_digit() || it == b'_')
}

fn origin_form(text: &str) -> Result<(), OptionForm> {
    if is_origin(text) { Ok(()) } else { Err(OptionForm::Origin) }
}

fn build_id_form(text: &str) -> Result<(), OptionForm> {
    let is_id = text.split_once(':').is_some_and(|(origin, id)| is_origin(origin) && !id.is_empty());
    if is_id { Ok(()) } else { Err(OptionForm::BuildId) }
}

/// The document.
fn document(runs: &[RunResults], origin: &str, build_id: Option<&str>) -> Value {
    let mut lists: [Map<String, Value>; 4] = Default::default();
    let [checkouts, builds, issues, incidents] = &mut lists;
    let mut tests = Vec::new();
    for run in runs {
        let build_id = build_id.map(str::to_owned).unwrap_or_else(|| {
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
    let Value::Object(mut test) = json!({
        "id": format!("{origin}:{}.{}.{name}", run.id, run.name),
        "origin": origin,
        "build_id": build_id,
        "path": format!("tardy.{}.{name}", run.name),
        "environment": { "comment": format!("target {}", word(&run.summary.target)), "misc": misc },
    }) else {
        return Map::new();
    };
    test.extend(run.started_unix_s().map(|started| {
        let (day, time) = civil(started);
        ("start_time".to_owned(), format!("{day}T{time}+00:00").into())
    }));
    test.extend(run.measured_s().map(|duration| ("duration".to_owned(), duration.into())));
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
