//! `tardy explain --bound` on an archive with one trace: the missing parts of a bound, and the bound of given delays.

use crate::export::archived;
use crate::virtual_archives::{bench, make};
use fixtures::fake_meter::measuring;

/// Length of the only interrupt in the trace of `blocking-task`, that of the local timer.
const INTERRUPT_NS: i64 = 5_900;
const DELAYS: &str = "--bound=dst=19312,poid=22510,paie=1000,psd=19702";
const FREE_NS: i64 = 22_510 + 1_000 + 19_702;

fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[test]
fn a_run_alone_shows_its_interrupts_and_what_is_missing() {
    let bench = archived(&["blocking-task"]);
    let ended = bench.run(&["explain", "here", "--bound"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let said = words(&ended.stdout);
    for expected in ["L = max(D_ST, D_POID)", "D_PSD preemption off to schedule missing", "local_timer", "No bound: "] {
        assert!(said.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    let document = bench.run(&["explain", "here", "--bound", "--json"]).json();
    assert_eq!((&document["bound_version"], &document["virtual_time"]), (&1.into(), &false.into()));
    assert_eq!((&document["delays"], &document["cpus"][0]["bound_ns"]), (&().into(), &().into()));
    assert!(document["note"].as_str().unwrap().starts_with("No bound: "), "{document}");
}

#[test]
fn given_delays_make_a_bound_with_the_interrupts_that_were_seen() {
    let bench = archived(&["blocking-task"]);
    let document = bench.run(&["explain", "here", DELAYS, "--json"]).json();
    assert_eq!(document["delays"]["interference_free_ns"], FREE_NS);
    let cpu = document["cpus"].as_array().unwrap().iter().find(|cpu| cpu["cpu"] == 1).unwrap();
    assert_eq!((&cpu["sources"], &cpu["bound_ns"]), (&["local_timer"].into(), &(FREE_NS + INTERRUPT_NS).into()));
    let within = cpu["interference"].as_array().unwrap();
    assert!(within.iter().all(|within| within["taken_ns"] == INTERRUPT_NS), "{cpu}");
    let recorded_ns = cpu["recorded_ns"].as_i64().unwrap();
    assert!(!within.is_empty() && within.iter().all(|of| of["window_ns"].as_i64() <= Some(recorded_ns)), "{cpu}");
    let ended = bench.run(&["explain", "here", DELAYS]);
    assert!(words(&ended.stdout).contains("L = 49.1 µs (43.2 µs "), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
}

#[test]
fn without_a_trace_no_interrupts_are_known() {
    let bench = measuring_without_a_trace();
    let ended = bench.run(&["explain", "here", DELAYS]);
    assert!(words(&ended.stdout).contains("No interrupts are known"), "{}", ended.stdout);
    assert_eq!(bench.run(&["explain", "here", DELAYS, "--json"]).json()["cpus"], serde_json::json!([]));
    for wrong in ["--bound=dst=1", "--bound=dst=1,poid=1,paie=1,psd=a", "--bound=9"] {
        let ended = bench.run(&["explain", "here", wrong, "--json"]);
        assert_eq!(ended.code, Some(2), "{wrong}");
        assert_eq!(ended.json()["error"]["code"], "usage.refused", "{wrong}");
        assert!(ended.stderr.contains("--bound"), "{}", ended.stderr);
    }
}

#[test]
fn in_virtual_time_it_says_so() {
    let bench = bench();
    make(&bench, "old", 1, "one", &[]);
    assert!(bench.run(&["explain", "one", "--bound"]).stdout.starts_with("VIRTUAL TIME"));
    assert_eq!(bench.run(&["explain", "one", "--bound", "--json"]).json()["virtual_time"], true);
}

fn measuring_without_a_trace() -> fixtures::fake_meter::Bench {
    let bench = fixtures::fake_meter::ending_well(measuring());
    assert_eq!(bench.run(&["run", "--out", "here"]).code, Some(0));
    bench
}
