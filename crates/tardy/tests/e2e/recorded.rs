//! A run in virtual time is repeated with the flight recorder: the same samples, and an account to the nanosecond.

use super::lab::{Lab, assert_ledgers_add_up};
use archive::reader::Run;
use serde_json::Value;

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn the_worst_wake_up_is_explained_by_its_functions_and_nothing_is_added() {
    let lab = Lab::with("debian:6.1", &["--virtual-time", "--append", "preempt=full"]);
    let (run, _) = lab.measured("run", &["--duration", "1s", "--load", "dentry", "--load", "copy"]);
    let ended = lab.tardy(&["virtual", "record", "run", "--worst", "1", "--controls", "1", "--json"]).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let reported: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let worst = &reported["spikes"][0];
    assert_eq!(worst["latency_ns"].as_i64(), run.threads[&0].totals.latency_ns_max);
    assert_eq!(worst["recording"]["samples_identical"].as_u64(), Some(run.threads[&0].totals.cycles));
    assert_eq!(
        (&worst["recording"]["virtual_time"], worst["recording"]["ns_added"].as_u64()),
        (&Value::Bool(true), Some(0))
    );
    let phases = worst["phases"].as_array().unwrap();
    assert_eq!(
        phases.iter().filter_map(|phase| phase["ns"].as_i64()).sum::<i64>(),
        worst["latency_ns"].as_i64().unwrap()
    );
    assert!(phases.iter().all(|phase| phase["name"] != "untraced"), "{worst}");
    assert_eq!(worst["status"], "explained", "{worst}");
    let chain = worst["functions"]["held"][0]["chain"].as_array().unwrap();
    assert!(!chain.is_empty(), "{worst}");

    let page = lab.tardy(&["explain", "run", "--more"]).output().unwrap();
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("Virtual time") && page.contains("not one"), "{page}");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn with_ftrace_it_is_another_archive_and_the_price_is_reported_to_the_nanosecond() {
    let lab = Lab::with("debian:6.1-rt", &["--virtual-time"]);
    let (run, _) = lab.measured("run", &["--duration", "300ms"]);
    let cycles = run.threads[&0].totals.cycles;
    let traced = |words: &[&str]| {
        let ended = lab.tardy(&[&["virtual", "record", "run", "--with", "ftrace"], words].concat()).output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).unwrap()
    };
    let reported: Value = serde_json::from_str(&traced(&["--json"])).unwrap();
    assert_eq!((&reported["virtual_time"], reported["archive"].as_str()), (&true.into(), Some("run-traced")));
    let cost = &reported["tracing_cost"];
    let ns = |name: &str| cost[name].as_i64().unwrap();
    // Nothing else runs in this machine, so its course does not change: every wake-up is in both runs, and later in the
    // second.
    assert!(cost["pairs"].as_u64().unwrap() + 1 >= cycles && cost["parted_at"].is_null(), "{cost}");
    assert!(ns("median_traced_ns") > 5 * ns("median_ns") && ns("least_traced_ns") > ns("least_ns"), "{cost}");
    let late = cost["late"].as_array().unwrap();
    assert!(late.len() == 3 && late.iter().all(|of| of["traced_ns"].as_i64() > of["latency_ns"].as_i64()), "{cost}");
    let archive = Run::open(lab.path("run-traced")).unwrap();
    assert_ledgers_add_up(&archive);
    assert_eq!(archive.effective.as_ref().unwrap().tracer.as_deref(), Some("function"));
    // A third run equals the second: the cost is always the same.
    let page = traced(&[]);
    assert!(page.starts_with("VIRTUAL TIME") && page.contains("tardy explain run-traced-2"), "{page}");
    let words = page.split_whitespace().collect::<Vec<_>>().join(" ");
    let price = format!("Tracing added {} ns of virtual time", ns("median_traced_ns") - ns("median_ns"));
    assert!(words.contains(&price), "{price}: {page}");
}
