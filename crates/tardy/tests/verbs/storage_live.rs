//! `tardy run --method storage` on the disk of this machine: each request is accounted for, in the summary as in the export.

use crate::fake_meter::Ended;
use crate::real_meter::real_meter;
use prerequisites::Prerequisite::{Kernel, Tracefs};
use prerequisites::met;
use serde_json::Value;
use std::process::{Command, Output};
use tempfile::TempDir;

fn tardy(folder: &TempDir, words: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(words).current_dir(folder.path()).env("TARDY_STATE_DIR", folder.path().join("state"));
    if let Some(meter) = real_meter() {
        command.env("TARDY_METER", meter);
    }
    command.output().unwrap()
}

#[test]
fn the_phases_of_a_request_add_up_to_its_latency() {
    let folder = tempfile::tempdir().unwrap();
    // File systems without a device have major number 0.
    let on_a_device = rustix::fs::major(rustix::fs::stat(folder.path()).unwrap().st_dev) != 0;
    let device = Kernel("a block device below the temporary directory", on_a_device);
    if real_meter().is_none() || !met(&[Tracefs, device]) {
        return;
    }
    let settings = ["--cpus", "0", "-D", "1s", "--settle", "100ms", "--json", "--beside-others", "--out", "run"];
    let ended = Ended::of(tardy(&folder, &[&["run", "--method", "storage"], &settings[..]].concat()));
    let summary = ended.json();
    assert_eq!(summary["valid"], true, "{}", ended.stderr);
    let account = &summary["storage"];
    let requests = account["requests"].as_u64().unwrap();
    assert!(requests > 0 && account["split"].as_u64() > Some(requests / 2), "{account}");
    let worst = account["worst"].as_array().unwrap();
    assert!(!worst.is_empty(), "{account}");
    for request in worst {
        let phases = request["phases"].as_array().unwrap();
        let sum: i64 = phases.iter().filter_map(|phase| phase[1].as_i64()).sum();
        assert_eq!(Some(sum), request["latency_ns"].as_i64(), "{request}");
    }
    assert!(tardy(&folder, &["export", "run", "--format", "json", "-o", "run.json"]).status.success());
    let exported: Value = serde_json::from_slice(&std::fs::read(folder.path().join("run.json")).unwrap()).unwrap();
    assert_eq!(&exported["summary"]["storage"], account);
}
