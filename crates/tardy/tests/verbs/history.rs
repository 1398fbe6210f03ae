//! `tardy lab history` on series of archives of a fake meter.

use archive::histogram::{Histogram, bucket_of};
use archive::message::{Ending, Message, RunPhase};
use archive::sample::Totals;
use fixtures::fake_meter::*;

/// A bench with one archive per latency below `nightly/`.
fn nightly(latencies_ns: impl Iterator<Item = i64>) -> Bench {
    let mut bench = Bench::new();
    for (number, latency_ns) in latencies_ns.enumerate() {
        let totals = Totals {
            cycles: 6000,
            latency_ns_min: Some(latency_ns),
            latency_ns_max: Some(1_000_000 / (1 + number as i64)),
            ..Totals::default()
        };
        let histogram = Histogram { buckets: vec![(bucket_of(latency_ns).unwrap() as u32, 6000)] };
        bench = bench.again().says(&[
            hello(),
            phase(RunPhase::Measure, 0),
            phase(RunPhase::Collect, 6_000_000_000),
            Message::Thread { thread: 0, cpu: 0, totals, histogram, worst: Vec::new() },
            Message::End { ending: Ending::Complete, monotonic_ns: 6_000_000_000 },
        ]);
        let out = format!("nightly/{number:02}");
        let ended = bench.run(&["run", "--out", &out, "--duration", "6s", "--quiet"]);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }
    bench
}

fn scattered(level_ns: i64) -> impl Iterator<Item = i64> {
    (0..8).map(move |number| level_ns + 37 * (number * 7 % 5))
}

#[test]
fn a_change_is_found_shown_and_offered_to_an_experiment() {
    let bench = nightly(scattered(10_000).chain(scattered(20_000)));
    let ended = bench.run(&["history", "nightly", "--more", "--png", "pictures"]);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "p99: one change in 16 runs.",
        "p99 went from 10.1 µs to 20.1 µs (+99.",
        "|",
        "To prove or refute it: tardy experiment --a-before 'START the state before'",
        "--rounds 12 -- --duration 6s --interval 1ms",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    assert!(!text.contains("max:"), "{text}");
    assert!(std::fs::read(bench.path("pictures/history-01.png")).unwrap().starts_with(b"\x89PNG"));
    let document = bench.run(&["history", "nightly", "--json"]).json();
    assert_eq!((document["runs"].as_u64(), document["series"][0]["changes"][0]["at"].as_u64()), (Some(16), Some(8)));
}

#[test]
fn a_lab_directory_has_the_history_of_its_archives() {
    let bench = nightly(scattered(10_000).chain(scattered(20_000)));
    let ingested = bench.run(&["lab", "store", "ingest", "nightly", "--store", "lab"]);
    assert_eq!(ingested.code, Some(0), "{}", ingested.stderr);
    std::fs::remove_dir_all(bench.path("nightly")).unwrap();
    let found = bench.run(&["history", "lab", "--json"]);
    assert_eq!(found.code, Some(1), "{}", found.stderr);
    let document = found.json();
    assert_eq!((document["runs"].as_u64(), document["series"][0]["changes"][0]["at"].as_u64()), (Some(16), Some(8)));
}

#[test]
fn a_quiet_history_a_short_one_and_none() {
    let bench = nightly(scattered(10_000).chain(scattered(10_000)));
    let quiet = bench.run(&["history", "nightly"]);
    assert_eq!(quiet.code, Some(0), "{}", quiet.stdout);
    assert!(quiet.stdout.contains("16 runs"), "{}", quiet.stdout);
    let document = bench.run(&["history", "nightly", "--json"]).json();
    assert_eq!(document["series"][0]["changes"], serde_json::json!([]));
    let short = bench.run(&["history", "nightly/00", "nightly/01"]);
    assert_eq!(short.code, Some(4), "{}", short.stdout);
    assert!(short.stdout.contains("2 runs"), "{}", short.stdout);
    let none = bench.run(&["history", "absent"]);
    assert_eq!(none.code, Some(3));
    assert!(none.stdout.contains("`tardy run`"), "{}", none.stdout);
}
