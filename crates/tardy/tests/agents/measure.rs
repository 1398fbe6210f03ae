//! The tool `measure`: there only where it is allowed, and with a target and a limit of time.

use crate::server::Server;
use archive::message::{Ending, RunPhase};
use fixtures::fake_meter::{Bench, end, ending_well, hello, measuring, phase};
use fixtures::waiting::wait_until;
use serde_json::{Value, json};
use std::fs;

fn tools(server: &mut Server) -> Vec<String> {
    let listed = server.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

fn settings(bench: &Bench) -> Value {
    serde_json::from_slice(&fs::read(bench.path("settings.json")).unwrap()).unwrap()
}

#[test]
fn without_permission_there_is_no_tool_that_measures() {
    let bench = ending_well(measuring());
    let mut server = Server::start(&bench, &[]);
    assert!(!tools(&mut server).contains(&"measure".to_owned()));
    let arguments = json!({ "target": "local", "duration_s": 1 });
    let reply = server.request("tools/call", &json!({ "name": "measure", "arguments": arguments }));
    assert_eq!(reply["error"]["code"], -32602);
    server.close();
    assert!(!bench.path("settings.json").exists() && !bench.path("runs").exists());
}

#[test]
fn a_measurement_takes_a_target_and_a_time_and_answers_with_its_causes() {
    let bench = ending_well(measuring());
    let mut server = Server::start(&bench, &["--allow-measure"]);
    assert!(tools(&mut server).contains(&"measure".to_owned()));
    for incomplete in [
        json!({ "target": "local" }),
        json!({ "duration_s": 1 }),
        json!({ "target": "local", "duration_s": 0 }),
        json!({ "target": "local", "duration_s": 100_000 }),
    ] {
        assert_eq!(server.refusal("measure", &incomplete), "mcp.argument", "{incomplete}");
    }
    let causes = server.answer("measure", &json!({ "target": "local", "duration_s": 2, "limit_us": 500 }));
    assert_eq!(causes["latency_ns_max"], 153_214);
    let archive = causes["archive"].as_str().unwrap();
    assert_eq!(server.answer("run_causes", &json!({ "run": archive }))["samples"], 3);
    let settings = settings(&bench);
    assert_eq!((settings["duration_ns"].as_u64(), settings["limit_ns"].as_u64()), (Some(2_000_000_000), Some(500_000)));
}

#[test]
fn a_target_that_is_not_there_is_named_and_leaves_nothing() {
    let bench = ending_well(measuring());
    let mut server = Server::start(&bench, &["--allow-measure"]);
    for target in ["nowhere", "--json", "local --load cpu"] {
        assert_eq!(server.refusal("measure", &json!({ "target": target, "duration_s": 1 })), "mcp.measurement-failed");
    }
    assert_eq!(fs::read_dir(bench.path("runs")).unwrap().count(), 0);
}

#[test]
fn the_end_of_the_input_stops_a_measurement() {
    let bench = Bench::new()
        .says(&[hello(), phase(RunPhase::Measure, 2_000_000_000)])
        .does("touch \"$here/begun\"; read -r stop; echo \"$stop\" > \"$here/stopped\"")
        .says(&[end(Ending::Stopped)]);
    let mut server = Server::start(&bench, &["--allow-measure"]);
    let call = json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": { "name": "measure", "arguments": { "target": "local", "duration_s": 600 } } });
    server.send(&serde_json::to_vec(&call).unwrap());
    wait_until("the measurement begins", || bench.path("begun").exists());
    assert!(server.close().success());
    assert!(bench.path("stopped").exists());
}
