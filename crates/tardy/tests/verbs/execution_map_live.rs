//! Threads that a file describes run as described, and what they see of their CPU is what the kernel's trace shows.

use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use prerequisites::Prerequisite::Tracefs;
use prerequisites::met;
use std::path::Path;
use std::process::Command;

const FILE: &str = include_str!("../programs/threads.toml");

fn tardy(folder: &Path, meter: &Path, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(words).current_dir(folder).env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.join("state"));
    Ended::of(command.output().unwrap())
}

/// How many preemptions are within a gap, and of how many.
fn agreement(picture: &str) -> Option<(u64, u64)> {
    let number = |name: &str| picture.split_once(name)?.1.split('"').next()?.parse().ok();
    Some((number(" data-within=\"")?, number(" data-preemptions=\"")?))
}

#[test]
fn a_described_thread_works_in_its_periods_and_the_trace_agrees_with_the_map() {
    let Some(meter) = real_meter().filter(|_| met(&[Tracefs])) else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("threads.toml"), FILE).unwrap();
    let words = ["run", "--method", "map:file=threads.toml", "--every-sample", "-D", "2s", "--beside-others"];
    let more = ["--trace", "flip", "--json", "--out", "run"];
    let ended = tardy(folder.path(), &meter, &[&words[..], &more].concat());
    assert_eq!(ended.json()["settings"]["method"]["threads"][0]["name"], "control", "{}", ended.stderr);
    let picture = tardy(folder.path(), &meter, &["export", "run", "--format", "map-svg", "-o", "-"]).stdout;
    let names = ["control on CPU 0", "first on CPU 0", "second on CPU 0"];
    assert!(names.iter().all(|name| picture.contains(name)), "{picture}");
    let (within, all) = agreement(&picture).unwrap_or_else(|| panic!("no preemption in a trace: {picture}"));
    // A preemption that the end of the run cuts is in no gap, nor is one before the first mark of a thread: two of them, whatever the number.
    assert!(within > 0 && within + 2 + all / 10 >= all, "{within} of {all}");
}

#[test]
fn a_file_that_describes_no_threads_is_refused_before_anything_runs() {
    let Some(meter) = real_meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("threads.toml"), "[[thread]]\nname = \"a\"\ncpu = 0\nperiod_us = 5\n").unwrap();
    let ended = tardy(folder.path(), &meter, &["run", "--method", "map:file=threads.toml", "--out", "run"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("a needs both period_us and work_us"), "{}", ended.stderr);
    assert!(!folder.path().join("run").exists());
}
