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
name = "unknown"
stages = ["pipe-sensor"]
end = { event = "sdt_robot:step" }

[[chain]]
name = "wakes"
stages = ["pipe-sensor"]
end = { event = "sched:sched_waking" }
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
    let explain = |words: &[&str]| {
        Ended::of(Command::new(env!("CARGO_BIN_EXE_tardy")).args(words).current_dir(folder.path()).output().unwrap())
    };
    let document = explain(&words).json();
    let recorded = Run::open(folder.path().join("run")).unwrap().effective.unwrap().events;
    let once = ["net:net_dev_queue", "irq:softirq_raise", "sched:sched_waking"];
    assert!(once.iter().all(|name| recorded.iter().filter(|event| event == name).count() == 1), "{recorded:?}");
    let [sends, works, unknown, wakes] = [0, 1, 2, 3].map(|index| &document["chains"][index]);
    let sent = latencies_ns(sends);
    assert!(!sent.is_empty() && sent.iter().all(|ns| *ns > 0), "{sends}");
    // Each instance in the snapshots has the work of pipe-motor.
    let worked = latencies_ns(works);
    assert!(!worked.is_empty() && worked.iter().all(|ns| *ns > 200_000), "{works}");
    assert!(!latencies_ns(wakes).is_empty(), "{wakes}");
    assert!(latencies_ns(unknown).is_empty());
    assert!(unknown["limits"].to_string().contains("sdt_robot:step"), "{unknown}");
    // The short answer about several chains says why one of them has no instance.
    fs::write(folder.path().join("several.toml"), CHAINS.replace("deadline = \"5ms\"\n", "")).unwrap();
    let short = explain(&["explain", "run", "--chain", "several.toml"]).stdout;
    assert!(short.contains("sdt_robot:step"), "{short}");
}
