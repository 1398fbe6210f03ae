//! Whole runs on a virtual machine with the test program itself as a fake QEMU.

use archive::manifest::RunState;
use archive::message::Severity;
use archive::reader::Run;
use archive::settings::RunSettings;
use machines::qemu::fake_machine::{Stage, be_guest};
use runner::event::Event;
use runner::run::{RunRequest, TimeLimits, run};
use std::fs;
use std::time::Duration;

/// A whole run on this machine, and its events.
fn run_on(stage: &Stage, settings: RunSettings) -> (Run, Vec<Event>) {
    let mut target = stage.target(stage.machine());
    let request = RunRequest {
        id: "test".into(),
        directory: stage.path("run"),
        command: Vec::new(),
        tool_version: "0".into(),
        meter: stage.path("meter"),
        limits: TimeLimits::of(&settings, Duration::from_secs(60)),
        settings,
    };
    let mut events = Vec::new();
    run(&mut target, &request, &stage.stop, &mut |event| events.push(event)).unwrap();
    drop(target);
    stage.assert_nothing_is_left();
    (Run::open(stage.path("run")).unwrap(), events)
}

#[test]
fn a_request_to_stop_ends_a_boot() {
    let stage = Stage::new("hangs");
    stage.stop.request();
    let (archived, _) = run_on(&stage, RunSettings::default());
    let manifest = archived.manifest.unwrap();
    assert_eq!(manifest.state, RunState::Interrupted);
    assert_eq!(manifest.problem.unwrap().code, "machine.stopped-while-booting");
}

#[test]
fn a_panic_of_the_guest_fails_the_run_and_is_the_reason() {
    let stage = Stage::new("panics");
    let (archived, _) = run_on(&stage, RunSettings::default());
    let manifest = archived.manifest.unwrap();
    assert_eq!(manifest.state, RunState::Failed);
    let problem = manifest.problem.unwrap();
    assert!(problem.code == "run.meter-died" && problem.text.contains("Kernel panic"), "{problem:?}");
    let console = fs::read_to_string(archived.directory.join("console.log")).unwrap();
    assert!(console.contains("hello") && console.contains("Kernel panic"));
}

#[test]
fn a_line_that_is_cut_fails_the_run_and_ends_the_machine() {
    let (archived, events) = run_on(&Stage::new("cut"), RunSettings::default());
    let manifest = archived.manifest.unwrap();
    assert_eq!(manifest.state, RunState::Failed);
    assert!(manifest.problem.is_some_and(|problem| problem.code == "run.line-cut"));
    assert_eq!(archived.meter_version, Some("fake".into()), "what came before the cut is kept");
    let said: Vec<_> = events.iter().filter(|event| matches!(event, Event::Said { .. })).collect();
    assert_eq!(said, [&Event::Said { line: "a word".into() }], "passed on, and once");
}

#[test]
fn an_emulated_machine_is_marked_and_judges_no_limit() {
    let (archived, events) = run_on(&Stage::new("panics"), RunSettings::default());
    let manifest = archived.manifest.as_ref().unwrap();
    assert!(manifest.emulated);
    assert_eq!(manifest.target, "vm (emulated)");
    assert_eq!(archived.problems[0].severity, Severity::Degraded);
    assert!(events.iter().any(|event| matches!(event, Event::Problem(problem) if problem.text.contains("EMULATED"))));
    let (archived, _) = run_on(&Stage::new("panics"), RunSettings { limit_ns: Some(1), ..RunSettings::default() });
    assert_eq!(archived.problems[0].severity, Severity::Invalid);
}

/// Not a test: the other end of the tests above.
#[test]
#[ignore = "the tests above start it"]
fn the_fake_machine() {
    be_guest();
}
