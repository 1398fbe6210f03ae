//! A run in virtual time is made again with the flight recorder: the same samples, and an account to the nanosecond.

use super::lab::Lab;
use serde_json::Value;

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn the_worst_wake_up_is_explained_by_its_functions_and_nothing_is_added() {
    let lab = Lab::with("debian:6.1", &["--virtual-time", "--append", "preempt=full"]);
    let (run, _) = lab.measured("run", &["--duration", "1s", "--load", "dentry", "--load", "copy"]);
    let ended = lab.tardy(&["record", "run", "--worst", "1", "--controls", "1", "--json"]).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let told: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let worst = &told["spikes"][0];
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

    let page = lab.tardy(&["explain", "run"]).output().unwrap();
    let page = String::from_utf8_lossy(&page.stdout).into_owned();
    assert!(page.contains("Virtual time") && page.contains("not one"), "{page}");
}
