//! `tardy experiment tracing-cost` against a fake meter whose wake-ups are later when it traces.

use archive::effective::EffectiveSettings;
use archive::frame::Encoder;
use archive::message::{Ending, Message, RunPhase};
use archive::settings::SnapshotMode;
use fixtures::fake_meter::*;
use std::fs;

fn effective(mode: SnapshotMode, tracer: Option<&str>) -> Message {
    Message::Effective(Box::new(EffectiveSettings {
        snapshot_mode: mode,
        events: vec!["sched:sched_switch".into()],
        tracer: tracer.map(str::to_owned),
        ..EffectiveSettings::untraced()
    }))
}

/// All output of a meter in a run whose wake-ups are `latency_ns` late.
fn frames(mode: SnapshotMode, tracer: Option<&str>, latency_ns: i64) -> Vec<u8> {
    let mut encoder = Encoder::default();
    let messages = [
        hello(),
        phase(RunPhase::Load, 1_000_000_000),
        effective(mode, tracer),
        phase(RunPhase::Measure, 2_000_000_000),
        load("messaging"),
        phase(RunPhase::Collect, 3_000_000_000),
        thousand_at(latency_ns),
        end(Ending::Complete),
    ];
    messages.iter().flat_map(|message| encoder.message(message)).collect()
}

/// A meter with or without a function tracer.
fn tracing(functions: bool) -> Bench {
    tracing_after(":", functions)
}

/// The same, after a line of shell.
fn tracing_after(line: &str, functions: bool) -> Bench {
    let bench = Bench::new().does(line);
    let tracer = functions.then_some("function");
    fs::write(bench.path("off"), frames(SnapshotMode::Off, None, 900)).unwrap();
    fs::write(bench.path("events"), frames(SnapshotMode::Flip, None, 950)).unwrap();
    fs::write(bench.path("functions"), frames(SnapshotMode::Flip, tracer, 1000)).unwrap();
    bench.does(
        "case \"$settings\" in *'\"mode\":\"off\"'*) cat \"$here/off\";; \
         *'\"name\":\"function\"'*) cat \"$here/functions\";; *) cat \"$here/events\";; esac",
    )
}

#[test]
fn the_cost_of_each_level_is_found_with_an_interval() {
    let bench = tracing(true);
    let ended = bench.run(&["experiment", "tracing-cost", "--rounds", "6", "--duration", "1s", "--out", "here"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "6 rounds, each with one run of 1.0 s at every level (off, events, functions)",
        "Recording events makes the median wake-up 50 ns later (+5.6 %) (95 % interval 50 ns to 50 ns; 6 rounds",
        "Recording events and functions makes the median wake-up 100 ns later",
        "Largest latency of each run, described and not compared",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let listed = bench.run(&["list", "here", "--json"]).json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 18);
    let off = listed["runs"][0]["archive"].as_str().unwrap();
    assert_eq!(bench.run(&["report", off]).code, Some(0));
    let shown = bench.run(&["experiment", "tracing-cost", "--resume", "here"]);
    assert_eq!((shown.code, shown.stdout), (Some(0), ended.stdout), "a complete series is shown again");
}

#[test]
fn few_rounds_are_not_enough_data() {
    let ended =
        tracing(true).run(&["experiment", "tracing-cost", "--rounds", "2", "--levels", "events", "--duration", "1s"]);
    assert_eq!(ended.code, Some(4), "{}", ended.stderr);
    assert!(ended.stdout.contains("50 % confidence") && ended.stdout.contains("95 %"), "{}", ended.stdout);
}

#[test]
fn a_kernel_without_function_tracer_is_named() {
    let bench = tracing(false);
    let ended = bench.run(&["experiment", "tracing-cost", "--rounds", "1", "--duration", "1s", "--json"]);
    let document = ended.json();
    assert_eq!(document["variants"], serde_json::json!(["off", "events"]));
    let why = document["levels_absent"][0]["why"].as_str().unwrap();
    assert!(why.contains("CONFIG_FUNCTION_TRACER"), "{why}");
    let difference = document["result"]["costs"][0]["figures"][0]["difference"]["value"].as_f64().unwrap();
    assert!((difference - 50.0).abs() < 1e-9, "{difference}");
    assert!(document["directory"].as_str().unwrap().ends_with("-observe"));
}

#[test]
fn the_same_seed_tosses_the_same_coin() {
    let bench = tracing(true);
    let orders = |seed: &str, out: &str| {
        let words = [
            "experiment",
            "tracing-cost",
            "--rounds",
            "4",
            "--duration",
            "1s",
            "--coin-seed",
            seed,
            "--out",
            out,
            "--json",
        ];
        let document = bench.run(&words).json();
        document["attempts"].as_array().unwrap().iter().map(|attempt| attempt["order"].clone()).collect::<Vec<_>>()
    };
    let first = orders("5", "a");
    assert_eq!(first, orders("5", "b"));
    assert_ne!(first, orders("6", "c"));
}

#[test]
fn a_failed_round_is_void_and_done_again() {
    // The first run probes the level; the third belongs to the first round.
    let bench = tracing_after("echo x >> \"$here/count\"; [ $(wc -l < \"$here/count\") != 3 ] || exit 9", false);
    let ended =
        bench.run(&["experiment", "tracing-cost", "--rounds", "2", "--levels", "events", "--duration", "1s", "--json"]);
    let document = ended.json();
    assert_eq!(document["result"]["rounds"], 2, "{}", ended.stderr);
    let voids: Vec<bool> =
        document["attempts"].as_array().unwrap().iter().map(|attempt| !attempt["void"].is_null()).collect();
    assert_eq!(voids.iter().filter(|void| **void).count(), 1, "{voids:?}");
}

#[test]
fn a_machine_that_cannot_be_traced_is_code_3() {
    let bench = Bench::new();
    fs::write(bench.path("off"), frames(SnapshotMode::Off, None, 900)).unwrap();
    let words = ["experiment", "tracing-cost", "--rounds", "2", "--duration", "1s", "--json"];
    let ended = bench.does("cat \"$here/off\"").run(&words);
    assert_eq!(ended.code, Some(3));
    let document = ended.json();
    assert_eq!(document["levels_absent"].as_array().unwrap().len(), 2, "{document}");
}

#[test]
fn a_series_that_was_cut_off_goes_on_with_its_coin() {
    let bench = tracing(true);
    let words = [
        "experiment",
        "tracing-cost",
        "--rounds",
        "3",
        "--levels",
        "events",
        "--duration",
        "1s",
        "--out",
        "here",
        "--json",
    ];
    let whole = bench.run(&words).json();
    let file = bench.path("here/observe.json");
    let mut cut: serde_json::Value = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    cut["state"] = "running".into();
    cut["result"] = serde_json::Value::Null;
    cut["attempts"].as_array_mut().unwrap().truncate(2);
    cut["attempts"][1]["runs"].as_array_mut().unwrap().pop();
    fs::write(&file, cut.to_string()).unwrap();
    fs::remove_dir_all(bench.path("here/03-off")).unwrap();
    fs::remove_dir_all(bench.path("here/03-events")).unwrap();
    let resumed = bench.run(&["experiment", "tracing-cost", "--resume", "here", "--json"]).json();
    assert_eq!(resumed["state"], "complete");
    let voids: Vec<bool> =
        resumed["attempts"].as_array().unwrap().iter().map(|attempt| attempt["void"].is_string()).collect();
    assert_eq!(voids, [false, true, false, false]);
    assert_eq!(resumed["attempts"][2]["order"], whole["attempts"][2]["order"]);
}

#[test]
fn senseless_options_are_refused() {
    let bench = tracing(true);
    fs::create_dir_all(bench.path("full/x")).unwrap();
    for (words, expected) in [
        (&["experiment", "tracing-cost", "--trace", "off"][..], "chooses the tracers itself"),
        (&["experiment", "tracing-cost", "--limit", "100us"], "--limit"),
        (&["experiment", "tracing-cost", "--levels", "off"], "off,events"),
        (&["experiment", "tracing-cost", "--rounds", "21"], "20"),
        (&["experiment", "tracing-cost", "--confidence", "0.95"], "from 50"),
        (&["experiment", "tracing-cost", "--out", "full"], "not empty"),
        (&["experiment", "tracing-cost", "--resume", "full"], "observe.json"),
    ] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
}
