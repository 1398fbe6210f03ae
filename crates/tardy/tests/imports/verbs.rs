//! The other verbs on imported archives: they show what is known, and print unknown instead of zero.

use crate::fixture;
use fixtures::fake_meter::Bench;
use std::fs;

#[test]
fn several_files_become_several_archives_that_are_listed() {
    let bench = Bench::new();
    let files = ["cyclictest-2.4/histogram.json", "cyclictest-2.4/plain.json", "rteval/cyclictest.xml"].map(fixture);
    let ended = bench.run(&["import", &files[0], &files[1], &files[2], &files[0]]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    assert_eq!(ended.stdout.lines().count(), 5, "{}", ended.stdout);
    let listed = bench.run(&["list", "--json"]).json();
    let runs = listed["runs"].as_array().unwrap();
    assert_eq!(runs.len(), 4);
    assert!(runs.iter().all(|run| run["state"] == "complete" && run["valid"] == true));
    assert_eq!(runs.iter().filter(|run| run["started_unix_ns"].is_null()).count(), 1, "rteval's dates have no zone");
    assert!(runs.iter().filter(|run| run["imported"] == "cyclictest").count() == 3, "{listed}");
    assert!(bench.run(&["list"]).stdout.contains(" rteval (cyclictest)"));
    let hidden = fs::read_dir(bench.path("runs")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(hidden.filter(|name| name.to_string_lossy().starts_with('.')).count() == 0);
}

#[test]
fn several_runs_in_a_log_become_several_archives() {
    let bench = Bench::new();
    let ended = bench.run(&["import", &fixture("logs/quiet-twice.txt"), "--out", "runs", "--json"]);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""));
    let imports = ended.json()["imports"].take();
    let max = |run: usize| imports[run]["summary"]["all_cpus"]["max"].as_i64();
    assert_eq!([max(0), max(1)], [Some(4_027_000), Some(7_851_000)]);
    assert_eq!(bench.run(&["list", "--json"]).json()["runs"].as_array().unwrap().len(), 2);
}

#[test]
fn tools_that_wake_no_thread_have_gaps() {
    let bench = Bench::new();
    let ended = bench.run(&["import", &fixture("rt-tests-2.4/oslat.json"), "--out", "run"]);
    let page = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("longest") && !page.contains("woke up") && !page.contains("wake-up was"), "{page}");
}

#[test]
fn a_truncated_maximum_is_the_least() {
    let bench = Bench::new();
    let ended = bench.run(&["import", &fixture("columns/osadl.txt"), "--out", "run"]);
    let page = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains("at least ") && page.contains('≥'), "{page}");
    assert_eq!(bench.run(&["report", "run"]).code, Some(0));
    let html = fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(html.contains(" was at least <strong"), "the verdict of the page");
}

/// The remains of a killed import are hidden, and neither listed nor the latest run.
#[test]
fn an_unfinished_import_is_no_run() {
    let bench = Bench::new();
    assert_eq!(
        bench.run(&["import", &fixture("cyclictest-2.4/plain.txt"), "--out", "runs/.run.1.partial"]).code,
        Some(0)
    );
    assert_eq!(bench.run(&["list", "--json"]).json()["runs"], serde_json::json!([]));
    assert_eq!(bench.run(&["report", "latest"]).code, Some(2));
}

#[test]
fn the_summary_says_where_it_comes_from_and_what_is_unknown() {
    let bench = Bench::new();
    let page = bench.run(&["import", &fixture("cyclictest-2.10/histogram.json"), "--out", "run"]).stdout;
    let page = page.split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        "Imported from histogram.json: measured by cyclictest 2.10.",
        "5 overflow values: thread 0: each at least 40 µs, the largest 88 µs",
        "how many periods were missed",
        "when each wake-up happened",
        "values are rounded down to 1 µs by the source",
        "tardy report run",
    ] {
        assert!(page.contains(words), "{words:?} is not in: {page}");
    }
    assert!(!page.contains("thread 1: each at least"), "the one overflow of thread 1 is its maximum: {page}");
}

#[test]
fn the_report_reads_well_without_times() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["import", &fixture("cyclictest-2.4/histogram.json"), "--out", "run"]).code, Some(0));
    assert_eq!(bench.run(&["report", "run"]).code, Some(0));
    let html = fs::read_to_string(bench.path("run/report.html")).unwrap();
    let body = &html[html.find("id=\"answer\"").unwrap()..html.find("<footer").unwrap()];
    for words in [
        "<strong>Imported</strong>",
        "An imported result holds no traces.",
        "The source did not keep when each wake-up happened.",
        "Not in the source, so unknown here",
        "Values rounded down to",
        "wake-ups are not drawn:",
        "A dash: the source does not say. The source rounded every latency down to a multiple of 1",
    ] {
        assert!(body.contains(words), "{words:?} is not in the report");
    }
    for words in ["The run is valid", "nothing was lost", "the machine was left as it was", "The meter did not"] {
        assert!(!body.contains(words), "{words:?} is claimed of an imported run");
    }
}

#[test]
fn samples_with_times_give_the_time_line_back() {
    let bench = Bench::new();
    let ended = bench.run(&["import", &fixture("jitterdebugger-samples/results.json"), "--out", "run", "--json"]);
    let summary = &ended.json()["imports"][0]["summary"];
    assert_eq!(summary["measured_ns"], 2_800_003_000i64);
    assert_eq!(summary["cpus"][0]["worst"]["due_ns"], 1_001_600_000_000i64);
    assert_eq!(summary["losses"][0]["count"], 1, "one sample of thread 0 is not in samples.raw: {}", summary["losses"]);
    assert_eq!(bench.run(&["report", "run"]).code, Some(0));
    let html = fs::read_to_string(bench.path("run/report.html")).unwrap();
    assert!(html.contains("data-picture=\"time\""));
}

#[test]
fn explain_says_that_there_is_nothing_to_explain() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["import", &fixture("cyclictest-2.4/plain.txt"), "--out", "run"]).code, Some(0));
    let ended = bench.run(&["explain", "run"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
}
