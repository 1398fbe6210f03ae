//! The verbs on saved archives: complete, cut at any byte, foreign and missing ones.

use archive::message::{Ending, RunPhase};
use archive::spike::SpikeReason;
use fixtures::fake_meter::*;
use std::fs;

/// A bench with the archive `here` of a run with three spikes and one control sample.
fn archived() -> Bench {
    let bench = ending_well(measuring().says(&[
        spike(2, 200_000, SpikeReason::NewMaximum),
        spike(3, 90_000, SpikeReason::OverLimit),
        spike(4, 2_000, SpikeReason::Control),
    ]));
    assert_eq!(bench.run(&["run", "--out", "here"]).code, Some(0));
    bench
}

#[test]
fn explain_json_accounts_for_every_spike_to_the_nanosecond() {
    let document = archived().run(&["explain", "--json", "here"]).json();
    assert_eq!(document["explanation_version"], 1);
    let spikes = document["spikes"].as_array().unwrap();
    let numbers: Vec<u64> = spikes.iter().map(|spike| spike["spike"].as_u64().unwrap()).collect();
    assert_eq!(numbers, [2, 1, 3, 4], "largest first, controls last");
    for spike in spikes {
        let sum = |list: &serde_json::Value| {
            list.as_array().unwrap().iter().map(|entry| entry["ns"].as_i64().unwrap()).sum::<i64>()
        };
        assert_eq!(sum(&spike["phases"]), spike["latency_ns"].as_i64().unwrap(), "{spike}");
        for phase in spike["phases"].as_array().unwrap() {
            assert_eq!(sum(&phase["owners"]), phase["ns"].as_i64().unwrap(), "{phase}");
        }
    }
}

#[test]
fn explain_shows_the_worst_first_and_one_by_number() {
    let bench = archived();
    let worst = bench.run(&["explain", "here", "--worst", "1"]).stdout;
    assert!(worst.contains("Spike 2: CPU 0, 200.0 µs late") && !worst.contains("Spike 1:"), "{worst}");
    let one = bench.run(&["explain", "here", "--spike", "3"]).stdout;
    assert!(one.contains("Spike 3:") && !one.contains("Spike 2:"), "{one}");
    let absent = bench.run(&["explain", "here", "--spike", "9"]);
    assert_eq!(absent.code, Some(2));
    assert!(absent.stderr.contains("1, 2, 3, 4"), "{}", absent.stderr);
}

#[test]
fn an_archive_cut_at_any_byte_is_explained_and_listed() {
    let bench = archived();
    let stream = fs::read(bench.path("here/stream.tardy")).unwrap();
    let step = stream.len() / 25 + 1;
    for cut in (0..stream.len()).step_by(step) {
        fs::write(bench.path("here/stream.tardy"), &stream[..cut]).unwrap();
        let explained = bench.run(&["explain", "--json", "here"]);
        assert_eq!(explained.code, Some(0), "cut at {cut}: {}", explained.stderr);
        assert!(!explained.json()["gaps"].as_array().unwrap().is_empty(), "cut at {cut}");
        assert_eq!(bench.run(&["explain", "here"]).code, Some(0));
    }
    fs::write(bench.path("here/manifest.json"), "{").unwrap();
    assert_eq!(bench.run(&["list", "."]).code, Some(0));
}

#[test]
fn a_missing_or_cut_trace_is_a_caveat_not_an_error() {
    let bench = archived();
    fs::remove_file(bench.path("here/spikes/0001/trace.dat")).unwrap();
    let document = bench.run(&["explain", "--json", "here"]).json();
    let first = document["spikes"].as_array().unwrap().iter().find(|spike| spike["spike"] == 1).unwrap();
    assert_eq!(first["status"], "no_trace");
    assert!(first["caveats"][0]["facts"]["trace_unreadable"].is_string(), "{first}");
}

#[test]
fn unknown_archives_are_usage_errors_that_name_the_path() {
    let bench = Bench::new();
    fs::create_dir(bench.path("foreign")).unwrap();
    for (words, expected) in [
        (["explain", "nowhere"], "nowhere"),
        (["explain", "foreign"], "not a run archive"),
        (["report", "nowhere"], "nowhere"),
        (["explain", "latest"], "latest run"),
    ] {
        let ended = bench.run(&words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
}

#[test]
fn the_report_lands_where_it_was_asked() {
    let bench = archived();
    assert_eq!(bench.run(&["report", "here"]).stdout.trim(), "here/report.html");
    let ended = bench.run(&["report", "here", "-o", "elsewhere.html", "--json"]);
    assert_eq!(ended.json()["html"], "elsewhere.html");
    assert!(fs::read_to_string(bench.path("elsewhere.html")).unwrap().contains("153214"));
    let printed = bench.run(&["report", "here", "-o", "-"]);
    assert!(printed.stdout.contains("153214") && !bench.path("-").exists(), "{}", printed.stderr);
}

#[test]
fn a_shell_with_a_small_stack_starts_every_verb() {
    let bench = archived();
    let script = format!("ulimit -s 64 && exec {} report here", env!("CARGO_BIN_EXE_tardy"));
    let ended = std::process::Command::new("sh").args(["-c", &script]).current_dir(bench.path("")).output().unwrap();
    assert!(ended.status.success(), "{}: {}", ended.status, String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn latest_and_ids_find_runs_below_the_runs_directory() {
    let bench = ending_well(measuring());
    let first = bench.run(&["run", "--quiet"]).stdout.trim().to_owned();
    let last = bench.run(&["run", "--quiet"]).stdout.trim().to_owned();
    assert_eq!(bench.run(&["explain", "--json", "latest"]).json()["archive"], last);
    assert!(bench.run(&["explain"]).stderr.contains(&format!("latest is {last}")), "a bare verb means it, and says so");
    let id = first.strip_prefix("runs/").unwrap();
    assert_eq!(bench.run(&["explain", "--json", id]).json()["archive"], first);
}

#[test]
fn latest_is_the_run_that_out_put_beside_the_runs() {
    let bench = ending_well(measuring());
    assert_eq!(bench.run(&["run", "--quiet"]).code, Some(0));
    assert_eq!(bench.run(&["run", "--quiet", "--out", "first"]).code, Some(0));
    assert_eq!(bench.run(&["explain", "--json"]).json()["archive"], "first");
    let listed = bench.run(&["list", "--json"]).json();
    assert_eq!(listed["runs"][1]["archive"], "first", "{listed}");
}

#[test]
fn latest_sees_into_series_and_passes_over_runs_that_failed() {
    let bench = ending_well(measuring());
    assert_eq!(bench.run(&["run", "--quiet", "--out", "runs/first"]).code, Some(0));
    assert_eq!(bench.run(&["run", "--quiet", "--out", "runs/series/one/a"]).code, Some(0));
    assert_eq!(bench.run(&["explain", "--json"]).json()["archive"], "runs/series/one/a");
    let listed = bench.run(&["list", "--json"]).json();
    assert_eq!(listed["runs"].as_array().unwrap().len(), 2);
    let bench = measuring_then_dying(bench);
    assert_eq!(bench.run(&["run", "--quiet", "--out", "runs/broken"]).code, Some(3));
    assert!(bench.path("runs/broken").is_dir(), "it measured before it died");
    let ended = bench.run(&["explain", "--json"]);
    assert_eq!(ended.json()["archive"], "runs/series/one/a");
    assert!(ended.stderr.contains("1 newer run "), "{}", ended.stderr);
}

#[test]
fn latest_passes_over_a_run_that_ended_without_a_figure() {
    let bench = ending_well(measuring());
    assert_eq!(bench.run(&["run", "--quiet", "--out", "runs/first"]).code, Some(0));
    let (measure, collect) = (phase(RunPhase::Measure, 2_000_000_000), phase(RunPhase::Collect, 4_000_000_000));
    let bench = bench.again().says(&[hello(), measure, collect, end(Ending::Complete)]);
    assert_eq!(bench.run(&["run", "--quiet", "--out", "runs/without-figures"]).code, Some(3));
    assert!(bench.path("runs/without-figures").is_dir());
    let ended = bench.run(&["explain", "--json"]);
    assert_eq!(ended.json()["archive"], "runs/first");
    assert!(ended.stderr.contains("1 newer run "), "{}", ended.stderr);
}

fn measuring_then_dying(bench: Bench) -> Bench {
    bench.again().says(&[hello(), phase(RunPhase::Measure, 2_000_000_000), totals(0)]).does("kill -9 $$")
}

#[test]
fn runs_are_listed_with_what_distinguishes_them() {
    let bench = ending_well(measuring());
    assert_eq!(
        bench.run(&["run", "--quiet", "--limit", "1ms", "--load", "messaging", "--out", "runs/here"]).code,
        Some(0)
    );
    let listed = bench.run(&["list"]).stdout;
    for expected in ["messaging", "local", "1.00 ms held", "worst cause"] {
        assert!(listed.contains(expected), "{expected:?} is not in {listed}");
    }
    assert_eq!(bench.run(&["list", "nowhere"]).code, Some(2));
}

#[test]
fn restore_passes_the_words_of_the_meter_on() {
    let ended = Bench::new().run(&["target", "restore"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), "restored\n"));
    assert_eq!(Bench::new().run(&["target", "restore", "--json"]).json()["lines"][0], "restored");
}

#[test]
fn completions_and_manual_pages_know_every_verb() {
    let bench = Bench::new();
    let script = bench.run(&["completions", "bash"]).stdout;
    assert_eq!(bench.run(&["man", "--dir", "man"]).code, Some(0));
    for verb in ["run", "explain", "report", "list", "target-restore", "lab-store-ingest"] {
        assert!(verb.split('-').all(|word| script.contains(word)), "{verb}");
        assert!(bench.path(&format!("man/tardy-{verb}.1")).exists(), "{verb}");
    }
    assert!(bench.run(&["man"]).stdout.contains(".TH tardy"));
}
