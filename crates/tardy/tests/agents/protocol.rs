//! The protocol at its edges: wrong messages, versions, ends.

use crate::server::{Server, with_runs};
use fixtures::fake_meter::Bench;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

/// The code of the error that answers a line.
fn code(server: &mut Server, line: &[u8]) -> i64 {
    server.send(line);
    let reply = server.receive();
    assert_eq!(reply["jsonrpc"], "2.0");
    reply["error"]["code"].as_i64().unwrap_or_else(|| panic!("{reply}"))
}

#[test]
fn a_wrong_line_gets_an_error_and_the_session_goes_on() {
    let mut server = Server::start(&Bench::new(), &[]);
    assert_eq!(code(&mut server, b"{\"jsonrpc\":"), -32700);
    assert_eq!(code(&mut server, &[0xff, 0xfe, 0x00]), -32700);
    assert_eq!(code(&mut server, b"[]"), -32600);
    assert_eq!(code(&mut server, b"{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}"), -32600);
    assert_eq!(code(&mut server, &vec![b' '; (1 << 20) + 1]), -32600);
    assert_eq!(code(&mut server, b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"resources/list\"}"), -32601);
    let tool = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"measure\"}}";
    assert_eq!(code(&mut server, tool), -32602);
    server.send(b"");
    server.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}");
    server.send(b"{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":7}}");
    assert_eq!(server.request("ping", &json!({}))["result"], json!({}));
}

#[test]
fn a_version_that_is_no_date_is_refused_and_an_unknown_one_gets_another() {
    let mut server = Server::start(&Bench::new(), &[]);
    let asked =
        |server: &mut Server, version: Value| server.request("initialize", &json!({ "protocolVersion": version }));
    assert_eq!(asked(&mut server, json!("2025-06-18"))["result"]["protocolVersion"], "2025-06-18");
    assert_eq!(asked(&mut server, json!("2099-01-01"))["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(asked(&mut server, json!("one"))["error"]["code"], -32602);
    let stated = json!({ "_meta": { "io.modelcontextprotocol/protocolVersion": "2099-01-01" } });
    let refused = server.request("tools/list", &stated);
    assert_eq!(
        (refused["error"]["code"].as_i64(), refused["error"]["data"]["requested"].as_str()),
        (Some(-32022), Some("2099-01-01"))
    );
}

#[test]
fn refused_arguments_are_problems_with_a_fix() {
    let bench = with_runs(&[("corpus/gallery/printk", "printk")]);
    let mut server = Server::start(&bench, &[]);
    for (tool, arguments, code) in [
        ("run_causes", json!({}), "mcp.argument"),
        ("run_causes", json!({ "run": "printk", "x": 1 }), "mcp.argument"),
        ("run_causes", json!({ "run": "none" }), "mcp.no-such-path"),
        ("run_causes", json!({ "run": "../x" }), "mcp.outside"),
        ("run_causes", json!({ "run": "/etc" }), "mcp.outside"),
        ("run_causes", json!({ "run": "printk/spikes" }), "usage.not-an-archive"),
        ("explain_spike", json!({ "run": "printk", "spike": 99 }), "usage.refused"),
        ("evidence", json!({ "run": "printk", "id": "x" }), "usage.refused"),
        ("judge_run", json!({ "run": "printk", "limit": "fast" }), "usage.refused"),
        ("judge_run", json!({ "run": "printk", "allow": "often" }), "usage.refused"),
        ("explain_file", json!({ "file": "/etc/passwd" }), "mcp.outside"),
    ] {
        assert_eq!(server.refusal(tool, &arguments), code, "{tool} {arguments}");
    }
}

#[test]
fn answers_in_progress_arrive_although_the_input_has_ended() {
    let bench = with_runs(&[("corpus/gallery/printk", "printk")]);
    let mut server = Server::start(&bench, &[]);
    let call = json!({ "jsonrpc": "2.0", "id": "last", "method": "tools/call",
        "params": { "name": "run_causes", "arguments": { "run": "latest" } } });
    server.send(&serde_json::to_vec(&call).unwrap());
    assert!(server.close().success());
    assert_eq!(server.receive()["id"], "last");
}

#[test]
fn a_signal_ends_the_server() {
    for signal in [Signal::INT, Signal::TERM] {
        let mut server = Server::start(&Bench::new(), &[]);
        server.request("ping", &json!({}));
        kill_process(Pid::from_raw(server.pid().cast_signed()).unwrap(), signal).unwrap();
        assert!(server.wait().success(), "{signal:?}");
    }
}

#[test]
fn a_directory_that_does_not_exist_is_wrong_usage() {
    let ended = Bench::new().run(&["mcp", "nowhere"]);
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    assert!(ended.stderr.contains("nowhere"), "{}", ended.stderr);
}
