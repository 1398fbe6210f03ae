//! Every method measures, with and without privileges, and ends cleanly.

use crate::process::{Finished, Meter, short, traced};
use archive::message::{Ending, LossKind, Message, RunPhase, Severity};
use archive::method::{METHODS, MethodDefinition, MethodRequest, Values};
use archive::settings::{Policy, RunSettings};
use meter::methods;
use prerequisites::{is_root, require};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

/// The methods that this machine can run, each with every value of its options.
fn requests() -> Vec<MethodRequest> {
    let of = |definition: &MethodDefinition| {
        let mut requests = vec![MethodRequest::from(definition.method)];
        for option in definition.options {
            let values: Vec<String> = match option.values {
                Values::OneOf(values) => values.iter().map(|value| (*value).to_owned()).collect(),
                Values::Number { least, .. } => vec![least.to_string()],
                Values::Flag => vec![String::new()],
                Values::Text => Vec::new(),
            };
            let set = |value| MethodRequest {
                name: definition.method,
                options: BTreeMap::from([(option.key.to_owned(), value)]),
            };
            requests.extend(values.into_iter().map(set));
        }
        requests
    };
    let all = METHODS.iter().flat_map(of);
    all.filter(|request| methods::method(request.name).obstacles(Path::new("/"), Some(request)).is_empty()).collect()
}

fn assert_measured(request: &MethodRequest, finished: &Finished, worst: Severity) {
    let text = request.text();
    assert_eq!(finished.ending(), Some(Ending::Complete), "{text}: {:?}", finished.problems(Severity::Notice));
    let totals = finished.totals();
    assert!(!totals.is_empty() && totals.iter().all(|totals| totals.cycles > 0), "{text}: {totals:?}");
    assert!(totals.iter().all(|totals| totals.clock_anomalies == 0), "{text}: {totals:?}");
    let bad = finished.messages.iter().filter(|message| {
        matches!(message, Message::Problem(problem) if problem.severity > worst)
            || matches!(message, Message::Loss(loss) if loss.kind != LossKind::Records)
    });
    assert_eq!(bad.count(), 0, "{text}: {:?}", finished.messages);
}

#[test]
fn every_method_measures_and_loses_no_stimulus() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    for request in requests() {
        let settings = RunSettings { method: request.clone(), ..short(250) };
        assert_measured(&request, &Meter::start(&settings, state.path()).finish(), Severity::Notice);
    }
    assert_eq!(std::fs::read_dir(state.path().join("journal")).map_or(0, |entries| entries.count()), 0);
}

#[test]
fn every_method_measures_without_privileges_when_degraded() {
    let state = tempfile::tempdir().unwrap();
    let policy = if is_root() { Policy::Other } else { Policy::Fifo };
    for request in requests() {
        let settings = RunSettings { method: request.clone(), policy, degrade: true, ..short(250) };
        assert_measured(&request, &Meter::start(&settings, state.path()).finish(), Severity::Degraded);
    }
}

#[test]
fn every_method_stops_when_it_is_asked_to() {
    require!(Root);
    let state = tempfile::tempdir().unwrap();
    for request in requests() {
        let settings = RunSettings { method: request.clone(), duration_ns: None, ..short(0) };
        let mut meter = Meter::start(&settings, state.path());
        meter.read_until(RunPhase::Measure);
        meter.read_until_measured();
        let asked = Instant::now();
        meter.signal(rustix::process::Signal::INT);
        let finished = meter.finish();
        assert_eq!(finished.ending(), Some(Ending::Stopped), "{}", request.text());
        assert!(asked.elapsed().as_secs() < 10, "{}: {:?}", request.text(), asked.elapsed());
    }
}

#[test]
fn every_method_keeps_the_trace_of_a_late_sample() {
    require!(Root, Tracefs);
    let state = tempfile::tempdir().unwrap();
    for definition in &METHODS {
        let request = MethodRequest::from(definition.method);
        if !requests().contains(&request) {
            continue;
        }
        let settings = RunSettings { method: request.clone(), ..traced(400) };
        let finished = Meter::start(&settings, state.path()).finish();
        assert_measured(&request, &finished, Severity::Degraded);
        let covered = |spike: &archive::spike::Spike| spike.snapshot.as_ref().is_some_and(|taken| taken.window_covered);
        assert!(finished.spikes().iter().any(covered), "{}: {:?}", request.text(), finished.spikes());
    }
}
