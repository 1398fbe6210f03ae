//! `tardy experiment bisect` against a fake meter that is later from a certain candidate on, where each step is an experiment.

use fixtures::fake_meter::*;
use std::fs;

/// The command before a measurement writes the candidate, a number, to a file; from 3 on the meter is late.
fn late_from_3() -> Bench {
    let bench = Bench::new();
    fs::write(bench.path("low"), all_said_at(800)).unwrap();
    fs::write(bench.path("high"), all_said_at(1000)).unwrap();
    bench.does("if [ \"$(cat \"$here/booted\")\" -ge 3 ]; then cat \"$here/high\"; else cat \"$here/low\"; fi")
}

const BOOT: &str = "echo \"$TARDY_CANDIDATE\" > booted; [ \"$TARDY_CANDIDATE\" != 9 ]";

fn search(more: &[&'static str]) -> Vec<&'static str> {
    let words = ["experiment", "bisect", "--before", BOOT, "--rounds", "8", "--out", "here"];
    [&words[..], more, &["--", "--duration", "5s"]].concat()
}

#[test]
fn the_first_bad_one_is_found_and_the_same_command_goes_on() {
    let bench = late_from_3();
    let words = search(&["--good", "1", "--bad", "4", "2", "3"]);
    let ended = bench.run(&words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("0.0500"), "the risk of a wrong answer: {}", ended.stdout);
    assert!(ended.stderr.contains("step 2 of about 4: 4 BAD: B raised p99"), "{}", ended.stderr);
    let journal = bench.path("here/bisect.json");
    let mut cut: serde_json::Value = serde_json::from_slice(&fs::read(&journal).unwrap()).unwrap();
    assert_eq!(cut["first_bad"], "3");
    let steps = cut["steps"].as_array_mut().unwrap();
    assert_eq!(steps.len(), 4);
    steps.pop();
    cut["first_bad"] = serde_json::Value::Null;
    fs::write(&journal, serde_json::to_vec(&cut).unwrap()).unwrap();
    let again = bench.run(&words);
    assert_eq!((again.code, again.stderr.lines().count()), (Some(0), 1), "one step was left: {}", again.stderr);
    let other = bench.run(&search(&["--good", "1", "--bad", "4", "2"]));
    assert_eq!(other.code, Some(2));
    assert!(other.stderr.contains("another search"), "{}", other.stderr);
}

#[test]
fn an_end_that_is_not_bad_is_reported() {
    let bench = late_from_3();
    let ended = bench.run(&search(&["--good", "1", "--bad", "2"]));
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let journal: serde_json::Value =
        serde_json::from_slice(&fs::read(bench.path("here/bisect.json")).unwrap()).unwrap();
    assert_eq!((&journal["first_bad"], &journal["steps"][0]["verdict"]), (&serde_json::Value::Null, &"good".into()));
}

#[test]
fn what_does_not_boot_stays_suspect() {
    let bench = late_from_3();
    fs::write(bench.path("list"), "# kernels\n1\n9\n4\n").unwrap();
    let ended = bench.run(&search(&["--list", "list", "--json"]));
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert_eq!(ended.json()["suspects"], serde_json::json!(["9", "4"]));
}

#[test]
fn a_step_ends_as_git_wants_it() {
    let bench = late_from_3();
    fs::write(bench.path("booted"), "1").unwrap();
    let step = |before: &str, more: &[&str]| {
        let words =
            [&["experiment", "bisect", "--step"][..], more, &["--before", before, "--", "--duration", "5s"]].concat();
        let ended = bench.run(&words);
        (ended.code, ended.stdout + &ended.stderr)
    };
    let limited = ["--limit", "latency < 1us"];
    for (before, more, code) in [
        ("exit 125", &limited[..], 125),
        ("exit 7", &limited, 125),
        ("exit 200", &limited, 128),
        ("true", &[], 128),
        ("true", &["--limit", "jitter"], 128),
        ("true", &["--no-such-option"], 128),
    ] {
        let (seen, said) = step(before, more);
        assert_eq!(seen, Some(code), "{before} {more:?}: {said}");
    }
    let words = ["experiment", "bisect", "--step", "--good", "2", "--rounds", "10", "--before"];
    let against = |before: &str| bench.run(&[&words[..], &[before, "--", "--duration", "5s"]].concat()).code;
    // The candidate of a step has no name: it is the checked-out commit.
    assert_eq!(against("echo \"${TARDY_CANDIDATE:-3}\" > booted"), Some(1));
    assert_eq!(against("echo \"${TARDY_CANDIDATE:-1}\" > booted"), Some(0));
}

#[test]
fn a_list_that_is_none_is_wrong_usage() {
    let bench = late_from_3();
    fs::write(bench.path("short"), "one\n").unwrap();
    for (words, expected) in [
        (&["experiment", "bisect"][..], "--list"),
        (&["experiment", "bisect", "--good", "a"], "--bad"),
        (&["experiment", "bisect", "--list", "short"], "at least two"),
        (&["experiment", "bisect", "--list", "none"], "none"),
        (&["experiment", "bisect", "--good", "", "--bad", "--priority 90", "--rounds", "6"], "--rounds 7"),
        (&["experiment", "bisect", "--good", "--prio 9", "--bad", "--priority 90"], "--prio"),
    ] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
}
