//! `tardy watch --chain` with the real meter on this machine: an event of the kernel ends a chain.

use super::watch_live::{meter, program, tardy_watch};
use archive::reader::Run;
use fixtures::fake_meter::Ended;
use serde_json::Value;
use std::fs;
use std::process::Command;

/// pipe-sensor sends a packet to pipe-motor, which needs 7 ms in each 50th cycle.
const CHAINS: &str = r#"
[[chain]]
name = "sends"
period = "10ms"
stages = ["pipe-sensor"]
end = { event = "net:net_dev_queue" }

[[chain]]
name = "works"
deadline = "5ms"
stages = ["pipe-sensor", "pipe-motor"]
stimulus = { event = "net:net_dev_queue" }

[[chain]]
name = "wakes"
stages = ["pipe-sensor"]
end = { event = "sched:sched_waking" }

[[chain]]
name = "unknown"
stages = ["pipe-sensor"]
end = { event = "sdt_robot:step" }
"#;

fn latencies_ns(chain: &Value) -> Vec<i64> {
    let instant = |of: &Value, name: &str| of[name].as_i64().unwrap();
    let instances = chain["instances"].as_array().unwrap().iter();
    instances.map(|instance| instant(instance, "end_ns") - instant(instance, "stimulus_ns")).collect()
}

#[test]
fn an_event_of_the_kernel_is_the_end_of_one_chain_and_the_stimulus_of_another() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, "pipeline").display().to_string();
    fs::write(folder.path().join("chains.toml"), CHAINS).unwrap();
    let words = ["--chain", "chains.toml", "--duration", "3s", "--out", "run", "--", &program, "work", "packet"];
    let watched = Ended::of(tardy_watch(&meter, &folder, &words).output().unwrap());
    assert_eq!(watched.code, Some(0), "{}", watched.shown());
    let words = ["explain", "run", "--chain", "chains.toml", "--json"];
    let explained = Command::new(env!("CARGO_BIN_EXE_tardy")).args(words).current_dir(folder.path()).output().unwrap();
    let document = Ended::of(explained).json();
    let recorded = Run::open(folder.path().join("run")).unwrap().effective.unwrap().events;
    let once = ["net:net_dev_queue", "irq:softirq_raise", "sched:sched_waking"];
    assert!(once.iter().all(|name| recorded.iter().filter(|event| event == name).count() == 1), "{recorded:?}");
    let [sends, works, wakes, unknown] = [0, 1, 2, 3].map(|index| &document["chains"][index]);
    let sent = latencies_ns(sends);
    assert!(sent.len() >= 10 && sent.iter().all(|ns| *ns > 0), "{sends}");
    // The work of pipe-motor is in the second chain only.
    assert!(latencies_ns(works).iter().any(|ns| *ns > 7_000_000), "{works}");
    let findings = works["findings"].as_array().unwrap();
    assert!(findings.iter().any(|finding| finding["culprit"] == "own-work"), "{works}");
    assert!(!latencies_ns(wakes).is_empty(), "{wakes}");
    assert!(latencies_ns(unknown).is_empty());
    assert!(unknown["limits"].to_string().contains("sdt_robot:step"), "{unknown}");
}
