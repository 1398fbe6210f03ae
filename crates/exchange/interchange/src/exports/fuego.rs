//! Fuego: a `run.json` of version 1.0, judged by Fuego's `criteria.json` if one is given.
//!
//! Measures have the names of Fuego's cyclictest tests, `default.latencies.max_latency`, in µs, so that existing
//! criteria apply. Without criteria nothing passes: every status is SKIP.

use super::judged_results::JudgedResults;
use super::{ExportError, ExportInput, ExportOption, OptionValue};
use crate::json;
use crate::results::{RunResults, Unit};
use judge::criteria::{Criteria, Ruling};
use serde_json::{Value, json};

const CRITERIA: ExportOption = ExportOption {
    name: "criteria",
    about: "the criteria.json that says what passes",
    value: OptionValue::File { placeholder: "FILE" },
};

pub const FUEGO: JudgedResults = JudgedResults {
    name: "fuego",
    about: "Fuego's run.json 1.0",
    file_name: "fuego-run.json",
    takes_several: false,
    options: &[&CRITERIA],
    document: |input, results| {
        let criteria = criteria(input)?;
        Ok(json::indented(&results.first().map(|run| document(run, criteria.as_ref())))?)
    },
};

fn criteria(input: &ExportInput<'_>) -> Result<Option<Criteria>, ExportError> {
    let Some(file) = input.options.file(&CRITERIA) else { return Ok(None) };
    let criteria = Criteria::parse(&file.text);
    criteria.map(Some).map_err(|why| ExportError::Criteria { path: file.path.clone(), why })
}

/// Names of figures here, with Fuego's names.
const NAMES: [(&str, &str); 7] = [
    ("latency_max", "max_latency"),
    ("latency_min", "min_latency"),
    ("latency_mean", "avg_latency"),
    ("latency_p50", "p50_latency"),
    ("latency_p99", "p99_latency"),
    ("latency_p99_9", "p99_9_latency"),
    ("latency_p99_99", "p99_99_latency"),
];

/// The document of one run.
fn document(run: &RunResults, criteria: Option<&Criteria>) -> Value {
    let mut cases: Vec<(String, Vec<(String, f64)>)> = Vec::new();
    for figure in &run.figures {
        let (case, measure) = place(&figure.name, figure.unit);
        match cases.iter_mut().find(|(name, _)| *name == case) {
            Some((_, measures)) => measures.push((measure, figure.value)),
            None => cases.push((case, vec![(measure, figure.value)])),
        }
    }
    let mut rulings = Vec::new();
    let mut documents = Vec::new();
    for (case, measures) in &cases {
        let path = format!("default.{case}");
        let ruled: Vec<(&str, f64, Ruling)> = measures
            .iter()
            .map(|(name, value)| {
                let ruling = |criteria: &Criteria| criteria.measure(&format!("{path}.{name}"), *value);
                (name.as_str(), *value, criteria.map_or(Ruling::Unruled, ruling))
            })
            .collect();
        let members: Vec<(&str, Ruling)> = ruled.iter().map(|(name, _, ruling)| (*name, *ruling)).collect();
        let ruling = criteria.map_or(Ruling::Unruled, |criteria| criteria.group(&path, &members));
        rulings.push((case.as_str(), ruling));
        documents.push(json!({
            "name": case,
            "status": status(ruling),
            "measurements": ruled.iter().map(|(name, value, ruling)| {
                json!({ "name": name, "measure": value, "status": status(*ruling) })
            }).collect::<Vec<_>>(),
        }));
    }
    let whole = criteria.map_or(Ruling::Unruled, |criteria| criteria.group("default", &rulings));
    let end = if run.summary.valid { status(whole) } else { "ERROR" };
    let mut document = json!({
        "schema_version": "1.0",
        "name": format!("Benchmark.tardy.{}", run.name),
        "status": end,
        "metadata": metadata(run),
        "test_sets": [{ "name": "default", "status": status(whole), "test_cases": documents }],
    });
    if let Some(seconds) = run.measured_s() {
        document["duration_ms"] = (seconds * 1e3).round().into();
    }
    document
}

fn status(ruling: Ruling) -> &'static str {
    match ruling {
        Ruling::Pass => "PASS",
        Ruling::Fail => "FAIL",
        Ruling::Unruled => "SKIP",
    }
}

/// Test case and measure of a figure: `latencies` and `max_latency`, `cpu0` and `missed`, `loads` and `messaging`.
fn place(figure: &str, unit: Unit) -> (String, String) {
    let fuego = |name: &str| NAMES.iter().find(|(ours, _)| *ours == name).map(|(_, theirs)| (*theirs).to_owned());
    if let Some(name) = fuego(figure).filter(|_| unit == Unit::Microseconds) {
        return ("latencies".into(), name);
    }
    if let Some(load) = figure.strip_prefix("load_") {
        return ("loads".into(), load.to_owned());
    }
    match figure.split_once('_') {
        Some((of, name)) => (of.to_owned(), fuego(name).unwrap_or_else(|| name.to_owned())),
        None => ("other".into(), figure.to_owned()),
    }
}

fn metadata(run: &RunResults) -> Value {
    let started_ms = run.summary.started_unix_ns.map(|ns| (ns / 1_000_000).to_string());
    let of = |wanted: &str| {
        run.circumstances().into_iter().find(|(name, _)| *name == wanted).map_or(String::new(), |(_, value)| value)
    };
    let stamp = run.started_unix_s().map(|started| {
        let (day, time) = words::calendar::civil(started);
        format!("{day}T{time}+0000")
    });
    // Fuego's own files contain the time as a string of milliseconds, contrary to its documentation.
    json!({
        "attachments": [],
        "board": of("target"),
        "build_number": of("run"),
        "fuego_core_version": "",
        "fuego_version": "",
        "host_name": run.summary.environment.as_ref().map_or(String::new(), |environment| environment.hostname.clone()),
        "job_name": format!("{}.default.Benchmark.tardy", of("target")),
        "kernel_version": of("kernel"),
        "start_time": started_ms.unwrap_or_default(),
        "test_spec": "default",
        "testsuite_version": run.summary.tool_version,
        "timestamp": stamp.unwrap_or_default(),
        "toolchain": of("architecture"),
    })
}
