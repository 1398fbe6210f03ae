//! `tardy explain --discover` and `--chain` on recordings of the corpus.

use fixtures::fake_meter::*;
use fixtures::repository::repository_path;
use serde_json::Value;
use std::fs;

/// A thread that works for 6 ms in a period of 2 ms, on arm64.
const OVERRUN: &str = "corpus/foreign/overrun-arm64.dat.gz";

fn segments_sum_to(instance: &Value) -> i64 {
    let segments = instance["segments"].as_array().map_or(&[][..], Vec::as_slice);
    segments.iter().map(|of| of["end_ns"].as_i64().unwrap() - of["start_ns"].as_i64().unwrap()).sum()
}

#[test]
fn a_discovered_chain_is_accounted_for() {
    let bench = Bench::new();
    let recording = repository_path(OVERRUN);
    let recording = recording.to_str().unwrap();
    let discovered = bench.tardy(&["explain", recording, "--discover"]).output().unwrap();
    assert_eq!(discovered.status.code(), Some(0), "{discovered:?}");
    let file = bench.path("chains.toml");
    fs::write(&file, &discovered.stdout).unwrap();
    let chained = |more: &[&str]| {
        let words = [&["explain", recording, "--chain", file.to_str().unwrap()], more].concat();
        let answered = bench.tardy(&words).output().unwrap();
        assert_eq!(answered.status.code(), Some(0), "{answered:?}");
        String::from_utf8(answered.stdout).unwrap()
    };
    assert!(chained(&[]).lines().count() <= 12);
    let document: Value = serde_json::from_str(&chained(&["--json"])).unwrap();
    let chain = &document["chains"][0];
    let deadline_ns = chain["deadline_ns"].as_i64().unwrap();
    let instances = chain["instances"].as_array().unwrap();
    let latency_ns = |of: &Value| of["end_ns"].as_i64().unwrap() - of["stimulus_ns"].as_i64().unwrap();
    let missed = instances.iter().filter(|instance| latency_ns(instance) > deadline_ns).count();
    let findings = chain["findings"].as_array().unwrap();
    assert!(missed > 0 && findings.len() == missed, "{missed} of {}", instances.len());
    let worst = findings.iter().max_by_key(|finding| finding["latency_ns"].as_i64()).unwrap();
    assert_eq!((&worst["culprit"], &worst["stage"]), (&Value::from("own-work"), &Value::from(0)));
    let with_ledger: Vec<&Value> = instances.iter().filter(|instance| instance["segments"].is_array()).collect();
    assert_eq!(with_ledger.len(), 10);
    assert!(with_ledger.iter().all(|instance| segments_sum_to(instance) == latency_ns(instance)));
    // Each segment of the worst instance has its line below the short answer.
    let worst = instances.iter().max_by_key(|instance| latency_ns(instance)).unwrap();
    let path = chained(&["--more"]);
    assert!(path.lines().count() > worst["segments"].as_array().unwrap().len());
}

#[test]
fn a_wrong_declaration_is_refused_with_its_line() {
    let bench = Bench::new();
    let file = bench.path("chains.toml");
    fs::write(&file, "[[chain]]\nname = \"c\"\nstages = [\"a\"]\ndeadline = \"soon\"\n").unwrap();
    let recording = repository_path(OVERRUN);
    let words = ["explain", recording.to_str().unwrap(), "--chain", file.to_str().unwrap()];
    let refused = bench.tardy(&words).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("line 4"));
}
