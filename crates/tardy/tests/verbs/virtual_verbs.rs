//! Verbs that measure in virtual time, with a script as the emulator: all output of each says "virtual time".

use crate::emulator::{RECORDED, emulators, laboratory, program, tardy};
use crate::virtual_words::says_it;
use fixtures::fake_meter::{Bench, Ended};
use std::fs;

fn run(bench: &Bench, words: &[&str]) -> Ended {
    Ended::of(tardy(bench, words).output().unwrap())
}

const LOAD: [&str; 5] = ["--", "--duration", "1s", "--load", "dentry"];

/// As text and as JSON; `OUT` is replaced by a separate directory.
fn both_say_it(bench: &Bench, words: &[&str], code: i32) {
    for json in [false, true] {
        let out = format!("{}-{json}", words[0]);
        let mut all: Vec<&str> = words.iter().map(|word| if *word == "OUT" { out.as_str() } else { word }).collect();
        let at = all.iter().position(|word| *word == "--").unwrap_or(all.len());
        all.splice(at..at, json.then_some("--json"));
        let ended = run(bench, &all);
        assert_eq!(ended.code, Some(code), "{all:?}: {}{}", ended.stdout, ended.stderr);
        assert!(says_it(&ended.stdout), "{all:?}:\n{}", ended.stdout);
        let _ = fs::remove_dir_all(bench.path(&out));
    }
}

#[test]
fn what_is_measured_says_virtual_time() {
    let bench = laboratory();
    both_say_it(&bench, &["run", "--target", "old", "--duration", "1s", "--out", "OUT"], 0);
    both_say_it(&bench, &["run", "--target", "old", "--duration", "1s", "--seeds", "2", "--out", "OUT"], 0);
    both_say_it(&bench, &["virtual", "repeat", "old", "--runs", "2", "-D", "1s"], 0);
    let variants = ["--a", "--target old", "--b", "--target new", "--out", "OUT"];
    both_say_it(&bench, &[&["compare", "--seeds", "2"], &variants[..], &LOAD].concat(), 0);
    both_say_it(&bench, &[&["experiment", "--rounds", "6"], &variants[..], &LOAD[..3]].concat(), 1);
}

#[test]
fn a_search_says_virtual_time_at_every_step_and_at_its_end() {
    let bench = laboratory();
    fs::write(bench.path("list"), "old\nold\nnew\nnew\n").unwrap();
    let search =
        ["experiment", "bisect", "--list", "list", "--limit", "latency < 3600ns", "--seeds", "2", "--out", "OUT"];
    both_say_it(&bench, &[&search[..], &LOAD].concat(), 0);
    let reported = run(&bench, &[&search[..], &LOAD].concat());
    let journal: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("OUT/bisect.json")).unwrap()).unwrap();
    assert_eq!(journal["first_bad"], "new");
    let steps: Vec<&str> = reported.stderr.lines().filter(|line| line.starts_with("step ")).collect();
    assert!(steps.len() >= 3 && steps.iter().all(|line| says_it(line)), "{}", reported.stderr);
    for (target, code) in [("old", 0), ("new", 1)] {
        let step =
            ["experiment", "bisect", "--step", "--limit", "latency < 3600ns", "--seeds", "2", "--", "--target", target];
        both_say_it(&bench, &step, code);
    }
}

#[test]
fn a_baseline_is_written_checked_and_broken_in_virtual_time() {
    let bench = laboratory();
    let write = ["virtual", "baseline", "write", "expected.toml", "--target", "old", "--seeds", "2", "--out", "first"];
    let written = run(&bench, &[&write[..], &LOAD].concat());
    assert_eq!(written.code, Some(0), "{}", written.stderr);
    assert!(says_it(&written.stdout), "{}", written.stdout);
    assert!(says_it(&fs::read_to_string(bench.path("expected.toml")).unwrap()));
    let check = ["virtual", "baseline", "check", "expected.toml", "--out", "OUT"];
    both_say_it(&bench, &check, 0);
    both_say_it(&bench, &[&check[..], &["--target", "new"]].concat(), 1);
    both_say_it(&bench, &["judge", "--baseline", "expected.toml", "first"], 0);
    let longer = [
        "run",
        "--target",
        "old",
        "--seeds",
        "2",
        "--duration",
        "2s",
        "--load",
        "dentry",
        "--out",
        "longer",
        "--quiet",
    ];
    assert_eq!(run(&bench, &longer).code, Some(0));
    let judged = run(&bench, &["judge", "--baseline", "expected.toml", "longer", "first/idle-0001", "first/idle-0002"]);
    let said = judged.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let other = "! loaded: duration in ns is 2000000000 in the runs, 1000000000 in the baseline (seeds [1, 2])";
    assert!(judged.code == Some(1) && said.contains(other), "{:?}: {}{}", judged.code, judged.stdout, judged.stderr);
}

#[test]
fn what_is_recorded_says_virtual_time_whatever_records() {
    let bench = laboratory();
    let measured = run(&bench, &["run", "--target", "old", "--duration", "1s", "--out", "one", "--quiet"]);
    assert_eq!(measured.code, Some(0), "{}", measured.stderr);
    let cycle = RECORDED.to_string();
    let record = ["virtual", "record", "one", "--cycle", &cycle, "--controls", "0"];
    both_say_it(&bench, &record, 0);
    both_say_it(&bench, &["explain", "one"], 0);
    both_say_it(&bench, &[&record[..], &["--with", "ftrace"]].concat(), 0);
    let asked: Vec<String> = emulators(&bench).into_iter().map(|(_, asked)| asked).collect();
    let symbols = asked.iter().filter(|asked| asked.contains("\"symbols\":true")).count();
    assert_eq!(symbols, 1, "the names of functions are asked for once: {asked:#?}");
}

#[test]
fn causes_are_compared_when_the_worst_wake_ups_of_both_sides_are_recorded() {
    let bench = laboratory();
    let measure = ["compare", "--a", "--target old", "--b", "--target new", "--seeds", "2", "--out", "both", "--json"];
    let bare = run(&bench, &[&measure[..], &LOAD].concat());
    assert_eq!((bare.code, &bare.json()["loaded"]["causes"]), (Some(0), &serde_json::json!([])), "{}", bare.stderr);
    let (boots, archives) = (emulators(&bench).len(), ["compare", "both/a", "both/b", "--json"]);
    let recorded = run(&bench, &[&archives[..], &["--record", "1"]].concat());
    assert_eq!(recorded.code, Some(0), "{}", recorded.stderr);
    let document = recorded.json();
    let cause = &document["loaded"]["causes"][0];
    assert_eq!((cause["seeds_a"].as_u64(), cause["seeds_b"].as_u64()), (Some(2), Some(2)), "{document}");
    let records = emulators(&bench).split_off(boots);
    let made_again = records.iter().filter(|(_, asked)| asked.contains(",at=")).count();
    assert_eq!(made_again, 4, "each seed under load, and no idle one: {records:#?}");
    // Existing records are kept.
    let again = run(&bench, &[&archives[..], &["--record", "1"]].concat());
    assert_eq!((again.json(), emulators(&bench).len()), (document, boots + records.len()));

    let at_once =
        ["compare", "--record", "1", "--a", "--target old", "--b", "--target new", "--seeds", "2", "--out", "new"];
    let at_once = run(&bench, &[&at_once[..], &LOAD].concat());
    assert_eq!(at_once.code, Some(0), "{}", at_once.stderr);
    assert!(says_it(&at_once.stdout) && at_once.stdout.contains("2 of 2 seeds"), "{}", at_once.stdout);
}

#[test]
fn an_emulator_that_loads_no_plugin_is_replaced_by_ftrace_and_a_named_recorder_is_not() {
    let bench = laboratory();
    let measured = run(&bench, &["run", "--target", "old", "--duration", "1s", "--out", "one", "--quiet"]);
    assert_eq!(measured.code, Some(0), "{}", measured.stderr);
    fs::write(bench.path("no-plugins"), "").unwrap();
    let ended = run(&bench, &["virtual", "record", "one", "--controls", "0"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("function tracer instead"), "{}", ended.stderr);
    assert!(says_it(&ended.stdout) && ended.stdout.contains("tardy explain one-traced"), "{}", ended.stdout);
    assert!(bench.path("one-traced/manifest.json").is_file());
    assert!(!bench.path("one/.again").exists(), "nothing is left of the attempt");
    let absent =
        tardy(&bench, &["virtual", "record", "one"]).env("TARDY_FLIGHT_RECORDER", "/absent.so").output().unwrap();
    let absent = Ended::of(absent);
    assert_eq!(absent.code, Some(3), "{}", absent.stderr);
    assert!(absent.stderr.contains("/absent.so") && !bench.path("one-traced-2").exists(), "{}", absent.stderr);
}

#[test]
fn a_machine_that_does_not_boot_is_reported_with_its_words() {
    let bench = laboratory();
    program(&bench.path("qemu"), "#!/bin/sh\necho 'qemu: no machine' >&2\nexit 1\n");
    let ended = run(&bench, &["run", "--target", "old", "--duration", "1s", "--out", "one"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(format!("{}{}", ended.stdout, ended.stderr).contains("qemu: no machine"), "{}", ended.stderr);
    let step = ["experiment", "bisect", "--step", "--limit", "latency < 1ms", "--", "--target", "old"];
    assert_eq!(run(&bench, &step).code, Some(125));
}
