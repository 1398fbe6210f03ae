//! `tardy audit` with the real meter on this machine: a program with every habit, and the same program without any.

use fixtures::fake_meter::Ended;
use fixtures::programs::{KnownMeter, real_meter};
use prerequisites::Prerequisite::{Kernel, Program, Tracefs};
use prerequisites::met;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Habits of `habits.c` with BAD in its real-time thread, and of `habits.rs`.
pub const PLANTED: [&str; 11] = [
    "allocation",
    "blocking-io",
    "lock-across-priorities",
    "lock-without-inheritance",
    "memory-not-locked",
    "page-fault",
    "relative-sleep",
    "sched-yield",
    "signal",
    "stack-fault",
    "wall-clock",
];

/// Further habits of its ordinary thread.
const OF_ORDINARY_THREADS: [&str; 2] = ["no-real-time-policy", "timer-slack"];

pub fn meter() -> Option<PathBuf> {
    let events = Path::new("/sys/kernel/tracing/events");
    let calls = Kernel("the event raw_syscalls:sys_enter", events.join("raw_syscalls/sys_enter").exists());
    let faults = Kernel("the event exceptions:page_fault_user", events.join("exceptions/page_fault_user").exists());
    real_meter().filter(|_| met(&[Tracefs, Program("cc"), calls, faults]))
}

fn program(folder: &TempDir, name: &str, options: &[&str]) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/habits.c");
    let binary = folder.path().join(name);
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-fno-omit-frame-pointer", "-pthread", "-static"]).args(options);
    assert!(compiler.arg("-o").arg(&binary).arg(source).status().unwrap().success());
    binary.display().to_string()
}

fn audit(meter: &Path, folder: &TempDir, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.arg("audit").args(words).current_dir(folder.path());
    command.env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.path().join("state"));
    Ended::of(command.output().unwrap())
}

fn tardy(folder: &TempDir, words: &[&str]) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_tardy")).args(words).current_dir(folder.path()).output().unwrap();
    Ended::of(output).stdout
}

pub fn rules(report: &serde_json::Value) -> BTreeSet<String> {
    let findings = report["findings"].as_array().unwrap();
    findings.iter().map(|finding| finding["rule"].as_str().unwrap().to_owned()).collect()
}

pub fn named(rules: &[&str]) -> BTreeSet<String> {
    rules.iter().map(|rule| (*rule).to_owned()).collect()
}

#[test]
fn every_planted_habit_is_found_and_no_other() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bad = program(&folder, "bad", &["-DBAD"]);
    let ended = audit(&meter, &folder, &["--json", "--settle", "100ms", "--out", "run", "--", &bad]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report = ended.json();
    assert_eq!(rules(&report), named(&PLANTED), "{report}");
    let deep = report["findings"].as_array().unwrap().iter().find(|finding| finding["rule"] == "stack-fault").unwrap();
    assert_eq!(deep["stack"][0]["function"], "deep", "{deep}");
    assert_eq!(deep["thread"], "urgent");

    // The recording is judged again: with the ordinary thread, and for systems that read other formats.
    let again =
        |words: &[&str]| audit(&meter, &folder, &[&["--archive", "run", "--settle", "100ms"][..], words].concat());
    let all = again(&["--all-threads", "--json"]).json();
    assert_eq!(rules(&all), named(&[&PLANTED[..], &OF_ORDINARY_THREADS].concat()), "{all}");
    assert_eq!(again(&["--deny", "sched-yield"]).code, Some(1));
    assert_eq!(again(&["--deny", "sched-yield", "--allow", "sched-yield"]).code, Some(0));
    assert_eq!(again(&["--deny", "above-interrupt-thread"]).code, Some(0));
    let sarif = again(&["--deny", "signal", "--format", "sarif"]).json();
    let level = |rule: &str| {
        let results = sarif["runs"][0]["results"].as_array().unwrap().clone();
        results.into_iter().find(|result| result["ruleId"] == rule).unwrap()["level"].clone()
    };
    assert_eq!((level("signal"), level("sched-yield")), ("error".into(), "warning".into()));
    let junit = again(&["--deny", "all", "--format", "junit"]).stdout;
    let document = roxmltree::Document::parse(&junit).unwrap();
    let failures = document.descendants().filter(|node| node.has_tag_name("failure")).count();
    assert_eq!(failures, PLANTED.len(), "{junit}");
    let text = again(&[]).stdout;
    assert!(text.contains("11 bad habits") && text.contains("SIGUSR1") && text.contains("deep"), "{text}");
    let text = text.replace('\n', " ");
    assert!(text.contains("--deny all") && !again(&["--deny", "all"]).stdout.contains("--deny"), "{text}");

    // Verbs for latencies do not take it for a run without spikes.
    let explained = tardy(&folder, &["explain", "run"]).replace('\n', " ");
    assert!(explained.contains("tardy audit --archive"), "{explained}");
    assert!(!explained.contains(" late (") && !explained.contains("worst"), "{explained}");
    let listed = tardy(&folder, &["list", "."]);
    assert!(listed.contains("method") && listed.contains("audit"), "{listed}");
}

#[test]
fn a_program_without_bad_habits_passes() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let good = program(&folder, "good", &[]);
    let words = ["--json", "--settle", "100ms", "--deny", "all", "--all-threads", "--out", "run", "--", &good];
    let ended = audit(&meter, &folder, &words);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let report = ended.json();
    assert!(report["findings"].as_array().unwrap().is_empty(), "{report}");
    let threads = report["threads"].as_array().unwrap();
    for name in ["urgent", "neighbour"] {
        let thread = threads.iter().find(|thread| thread["name"] == name).unwrap();
        assert!(thread["cycles"].as_u64() > Some(50), "{report}");
    }
}

#[test]
fn a_program_without_a_loop_is_not_called_good() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let meter = KnownMeter::of(&meter, folder.path());
    let ended = audit(meter.path(), &folder, &["--deny", "all", "--out", "run", "--", "true"]);
    assert_eq!(ended.code, Some(3), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("--settle") && !ended.stdout.contains("--deny"), "{}", ended.shown());
    assert_eq!(meter.instances(), [""; 0]);
}
