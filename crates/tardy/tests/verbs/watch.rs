//! `tardy watch` against a fake meter: its settings, its output, and the end of a command it started.

use archive::message::{Ending, Message, RunPhase, Severity};
use archive::settings::Policy;
use archive::watched::{PageFaults, WatchedKind, WatchedSeries};
use fixtures::fake_meter::*;
use std::fs;
use std::time::{Duration, Instant};

pub fn series(thread: u32, kind: WatchedKind, name: &str) -> WatchedSeries {
    WatchedSeries {
        thread,
        kind,
        tid: 4711,
        name: name.into(),
        policy: Some(Policy::Fifo),
        priority: 30,
        slack_ns_max: 0,
        late_arms: if kind == WatchedKind::Timer { 2 } else { 0 },
        page_faults: Some(PageFaults { minor: 12, major: 0 }),
        ended: false,
    }
}

pub fn of_series(thread: u32, over_limit: u64) -> Message {
    let Message::Thread { cpu, totals, histogram, worst, .. } = totals(over_limit) else { unreachable!() };
    Message::Thread { thread, cpu, totals, histogram, worst }
}

/// A meter measures until the command that `tardy` has started ends.
pub const UNTIL_THE_COMMAND_ENDS: &str = "pid=$(sed -n '/\"ours\":true/s/.*\"pid\":\\([0-9]*\\).*/\\1/p' \"$here/settings.json\")\n\
    while [ -n \"$pid\" ] && [ -e /proc/$pid ] && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.02; done";

/// A meter that observed one thread wake by its timer and do its work, three times each.
fn watching(cycles_over_limit: u64) -> Bench {
    Bench::new()
        .does("if [ \"$1\" = start ]; then shift; exec \"$@\"; fi")
        .says(&[hello(), phase(RunPhase::Measure, 2_000_000_000)])
        .does(UNTIL_THE_COMMAND_ENDS)
        .says(&[phase(RunPhase::Collect, 4_000_000_000)])
        .says(&[Message::Watched(vec![
            series(0, WatchedKind::Timer, "arm\x1b[2J"),
            series(1, WatchedKind::Cycle, "arm\x1b[2J"),
        ])])
        .says(&[of_series(0, 0), of_series(1, cycles_over_limit), phase(RunPhase::Restore, 1), end(Ending::Complete)])
}

#[test]
fn a_watch_prints_each_series_of_each_thread() {
    let bench = watching(0);
    let ended =
        bench.run(&["watch", "--pid", "1", "--duration", "2s", "--cycle-limit", "1ms", "--more", "--out", "here"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let unwrapped = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "Watched process 1: 1 thread woke up 3 times by timers and 0 times",
        "the worst timer wake-up was 153.2 µs late",
        "cycle took longer than 1.00 ms",
        "Timer wake-ups: from the instant asked for",
        "overran",
        "Cycles: from being given the CPU",
        "fifo 30",
        "12 page faults",
    ] {
        assert!(unwrapped.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    assert!(!ended.stdout.contains('\x1b'), "{:?}", ended.stdout);
    let settings: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("settings.json")).unwrap()).unwrap();
    assert_eq!(settings["watch"]["pid"], 1);
    assert_eq!(settings["watch"]["cycle_limit_ns"], 1_000_000);
    assert_eq!(settings["duration_ns"], 2_000_000_000u64);
    let listed = bench.run(&["list", "."]);
    assert!(listed.stdout.contains("153.2 µs"), "{}", listed.stdout);
}

#[test]
fn cycles_beyond_their_limit_end_with_code_1() {
    let ended = watching(2).run(&["watch", "--comm", "arm*", "--cycle-limit", "100us", "--json", "--out", "here"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let summary = ended.json();
    assert_eq!(summary["cpus"][0]["watched"]["kind"], "timer");
    assert_eq!(summary["all_cpus"]["max"], 153_214, "the cycles are no part of it");
    assert_eq!(summary["cpus"][1]["over_limit"], 2);
}

#[test]
fn what_a_command_prints_and_how_it_ends_is_kept() {
    let command = ["--", "sh", "-c", "echo out; echo err >&2; exit 7"];
    let ended = watching(0).run(&[&["watch", "--out", "here"][..], &command].concat());
    assert_eq!(ended.code, Some(7), "its failure is that of the watch: {}", ended.stderr);
    assert!(ended.stdout.starts_with("out\n"), "{}", ended.stdout);
    assert!(ended.stderr.contains("err\n") && ended.stderr.contains("exit status 7"), "{}", ended.stderr);
    let ended = watching(0).run(&[&["watch", "--json", "--out", "here"][..], &command].concat());
    assert_eq!(ended.json()["state"], "complete", "its output goes aside");
    assert!(ended.stderr.contains("out\n"), "{}", ended.stderr);
}

#[test]
fn codes_of_a_command_are_distinguished_from_those_of_the_watch() {
    let with_command = |limit: u64, code: i32| {
        let words = ["watch", "--cycle-limit", "100us", "--out", "here", "--", "sh", "-c", &format!("exit {code}")];
        watching(limit).run(&words).code
    };
    assert_eq!([1, 2, 3, 4].map(|code| with_command(0, code)), [1, 2, 3, 4].map(Some));
    assert_eq!([0, 1].map(|code| with_command(2, code)), [Some(124); 2], "the limit comes first");
    let killed = ["watch", "--out", "here", "--", "sh", "-c", "kill -9 $$"];
    assert_eq!(watching(0).run(&killed).code, Some(137));
}

#[test]
fn lines_of_a_command_are_counted_and_passed_on() {
    let command = ["--", "sh", "-c", "echo XRun one; printf 'XRun two, no end'; echo a late XRun >&2"];
    let bench = watching(0);
    let options = ["watch", "--count", "XRun", "--count", "late", "--count", "never", "--out", "here"];
    let ended = bench.run(&[&options[..], &command].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("XRun one\nXRun two, no end"), "{}", ended.stdout);
    assert!(ended.stderr.contains("a late XRun\n"), "{}", ended.stderr);
    for expected in ["3 lines with XRun", "1 line with late", "0 lines with never"] {
        assert!(ended.stdout.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    let summary = bench.run(&["explain", "here", "--json"]);
    assert_eq!(summary.code, Some(0), "{}", summary.stderr);
    let report = bench.run(&["report", "here"]);
    assert_eq!(report.code, Some(0), "{}", report.stderr);
    let page = fs::read_to_string(bench.path("here").join("report.html")).unwrap();
    assert!(page.contains("Counted lines") && page.contains("two, no end"));
    let ended = watching(0).run(&[&["watch", "--json", "--count", "XRun", "--out", "here"][..], &command].concat());
    let counted = &ended.json()["counted"][0];
    assert_eq!((&counted["text"], &counted["count"]), (&"XRun".into(), &3.into()));
    let lines = counted["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 3);
    assert!(lines.iter().all(|line| line["at_ns"].is_i64()), "{lines:?}");
    assert!(ended.stderr.contains("XRun one\n"), "{}", ended.stderr);
}

#[test]
fn a_command_does_not_outlive_a_watch_that_failed() {
    let bench = Bench::new().does("if [ \"$1\" = start ]; then shift; exec \"$@\"; fi").says(&[
        hello(),
        problem(Severity::Invalid, "no tracing", "run as root"),
        end(Ending::Failed),
    ]);
    let mark = bench.path("pid");
    let line = format!("echo $$ > {}; exec sleep 1000", mark.display());
    let begun = Instant::now();
    let ended = bench.run(&["watch", "--out", "here", "--", "sh", "-c", &line]);
    assert_eq!(ended.code, Some(125), "{}", ended.stderr);
    assert!(ended.stderr.contains("no tracing"), "{}", ended.stderr);
    assert!(begun.elapsed() < Duration::from_secs(500), "it waited for the command");
    if let Ok(pid) = fs::read_to_string(&mark) {
        assert!(!std::path::Path::new("/proc").join(pid.trim()).exists(), "{pid} still runs");
    }
}

#[test]
fn nobody_and_nothing_are_wrong_usage() {
    let bench = Bench::new();
    for (words, expected) in [
        (&["watch"][..], "--pid"),
        (&["watch", "--pid", "7", "--comm", "x"], "--comm"),
        (&["watch", "--pid", "999999999"], "no process 999999999"),
        (&["watch", "--comm", "a_name_of_sixteen"], "15 letters"),
    ] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
    fs::write(bench.path("text"), "no program").unwrap();
    for (words, code, expected) in [
        (&["watch", "--", "./not-there"][..], 127, "no program ./not-there"),
        (&["watch", "--", "./text"], 126, "chmod +x"),
        (&["watch", "--pid", "7", "--", "true"], 125, "--pid"),
        (&["watch", "--nonsense", "--", "true"], 125, "--nonsense"),
        (&["watch", "--count", "x", "--pid", "1"], 2, "--count"),
    ] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(code), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
    assert!(!bench.path("runs").exists(), "no archive of what never began");
}
