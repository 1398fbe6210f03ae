//! Every method beside a program that takes its CPU with a higher priority: a late sample has a ledger and names the program.

use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use prerequisites::Prerequisite::{Program, Tracefs};
use prerequisites::met;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Attempts on a machine that has other things to do as well.
const ATTEMPTS: usize = 3;
/// Samples this late were made late by the program, which keeps the CPU for 3 ms.
const LATE_NS: i64 = 1_000_000;

struct Hog(Child);

impl Hog {
    fn start(folder: &TempDir, cpu: &str) -> Self {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/hog.c");
        let binary = folder.path().join("hog");
        let compiled = Command::new("cc").args(["-O1", "-static", "-o"]).arg(&binary).arg(source).status();
        assert!(compiled.unwrap().success());
        Self(Command::new(binary).args([cpu, "3000", "23700"]).stderr(Stdio::inherit()).spawn().unwrap())
    }
}

impl Drop for Hog {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn list(value: &serde_json::Value) -> Vec<serde_json::Value> {
    value.as_array().cloned().unwrap_or_default()
}

/// The late spike that names the program, after a look at its ledger.
fn blamed(summary: &serde_json::Value) -> Option<serde_json::Value> {
    let spikes = list(&summary["spikes"]);
    spikes.into_iter().filter(|spike| spike["latency_ns"].as_i64() >= Some(LATE_NS)).find(|spike| {
        let explanation = &spike["explanation"];
        let ledger: i64 = list(&explanation["phases"]).iter().filter_map(|phase| phase["ns"].as_i64()).sum();
        assert_eq!(Some(ledger), spike["latency_ns"].as_i64(), "{spike}");
        let named = |finding: &serde_json::Value| {
            finding["sentence"].as_str().is_some_and(|sentence| sentence.contains("hog-"))
                && finding["confidence"] != "hint"
        };
        explanation["status"] == "explained" && list(&explanation["findings"]).iter().any(named)
    })
}

fn is_explained(method: &str) {
    let Some(meter) = real_meter().filter(|_| met(&[Tracefs, Program("cc")])) else { return };
    let folder = tempfile::tempdir().unwrap();
    let _hog = Hog::start(&folder, "0");
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        let out = format!("run-{attempt}");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        let words = ["--cpus", "0", "-D", "1s", "--settle", "100ms", "--json", "--beside-others", "--out", &out];
        command.args(["run", "--method", method]).args(words).current_dir(folder.path());
        command.env("TARDY_METER", &meter).env("TARDY_STATE_DIR", folder.path().join("state"));
        let ended = Ended::of(command.output().unwrap());
        let summary = ended.json();
        assert_eq!(summary["valid"], true, "{method}: {}", ended.stderr);
        if blamed(&summary).is_some() {
            return;
        }
        last = ended.stdout;
    }
    panic!("{method}: no late sample named the program in {ATTEMPTS} attempts; the last one: {last}");
}

#[test]
fn a_late_hand_over_names_the_program_that_had_the_cpu() {
    for method in ["semaphore", "mutex", "signal", "message-queue"] {
        is_explained(&format!("{method}:partner=other"));
    }
}

#[test]
fn a_gap_of_a_busy_thread_names_the_program_that_had_the_cpu() {
    is_explained("noise");
}

#[test]
fn a_long_inversion_names_the_program_that_kept_the_holder_from_its_work() {
    is_explained("inversion:work=500");
}
