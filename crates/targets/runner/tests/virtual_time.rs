//! Whole runs in virtual time with a shell script as a fake QEMU.

use archive::manifest::RunState;
use archive::reader::Run;
use archive::settings::RunSettings;
use machines::qemu::virtual_time::fake_qemu::Stage;
use machines::stop::StopRequests;
use runner::run::{RunRequest, TimeLimits, run};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;

fn run_on(stage: &Stage, stop: &StopRequests) -> Run {
    let settings = RunSettings { limit_ns: Some(1000), ..RunSettings::default() };
    let request = RunRequest {
        id: "test".into(),
        directory: stage.path("run"),
        command: Vec::new(),
        tool_version: "0".into(),
        meter: stage.path("meter"),
        limits: TimeLimits::of(&settings, Duration::from_secs(60)),
        settings,
    };
    run(&mut stage.target(), &request, stop, &mut |_| ()).unwrap();
    Run::open(stage.path("run")).unwrap()
}

#[test]
fn a_panic_is_the_reason_and_the_archive_says_virtual_time() {
    let stage = Stage::with("echo 'Kernel panic - not syncing: no init' >$console");
    let archived = run_on(&stage, &StopRequests::default());
    let manifest = archived.manifest.unwrap();
    assert!(manifest.emulated && manifest.virtual_time);
    assert_eq!((manifest.state, manifest.target.split(' ').next()), (RunState::Failed, Some("exact")));
    assert!(manifest.problem.unwrap().text.contains("Kernel panic"));
    assert!(archived.problems.iter().any(|problem| problem.text.contains("VIRTUAL TIME")));
}

#[test]
fn a_request_to_stop_ends_the_guest() {
    let stage = Stage::with("exec sleep 100");
    let stop = StopRequests::default();
    stop.request();
    let manifest = run_on(&stage, &stop).manifest.unwrap();
    assert_eq!(manifest.state, RunState::Interrupted, "{:?}", manifest.problem);
}

#[test]
fn a_qemu_that_cannot_be_started_is_named() {
    let stage = Stage::with("");
    fs::set_permissions(stage.path("qemu"), fs::Permissions::from_mode(0o644)).unwrap();
    let problem = run_on(&stage, &StopRequests::default()).manifest.unwrap().problem.unwrap();
    assert!(problem.code == "run.meter-died" && problem.text.contains("/qemu: "), "{problem:?}");
}
