//! A session with the client of the protocol's official SDK, in both of its lifecycles.

use crate::server::{BYTES_MAX, with_runs};
use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, ClientServiceExt, RoleClient, RunningService};
use serde_json::{Value, json};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};

/// A server with one archive, connected to the client.
async fn connected(lifecycle: ClientLifecycleMode) -> (Child, RunningService<RoleClient, ()>) {
    let bench = with_runs(&[("corpus/gallery/printk", "printk")]);
    let (ours, theirs) = UnixStream::pair().unwrap();
    let end = || Stdio::from(OwnedFd::from(theirs.try_clone().unwrap()));
    let mut command = bench.tardy(&["mcp", bench.path("runs").to_str().unwrap()]);
    let child = command.stdin(end()).stdout(end()).spawn().unwrap();
    drop((command, theirs));
    ours.set_nonblocking(true).unwrap();
    let stream = tokio::net::UnixStream::from_std(ours).unwrap();
    let client = ().serve_with_lifecycle(stream, lifecycle).await.unwrap();
    // The archive is read before the directory of the bench is removed.
    let runs = call(&client, "list_runs", json!({})).await;
    assert_eq!(document(&runs)["matched"], 1);
    let causes = call(&client, "run_causes", json!({ "run": "printk" })).await;
    assert_eq!(document(&causes)["causes"][0]["culprit"], "printk");
    (child, client)
}

async fn call(client: &RunningService<RoleClient, ()>, tool: &'static str, arguments: Value) -> CallToolResult {
    let arguments = arguments.as_object().unwrap().clone();
    client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await.unwrap()
}

fn document(result: &CallToolResult) -> Value {
    let text = result.content[0].as_text().unwrap();
    assert!(text.text.len() <= BYTES_MAX);
    serde_json::from_str(&text.text).unwrap()
}

async fn session(lifecycle: ClientLifecycleMode, version: ProtocolVersion) {
    let (mut child, client) = connected(lifecycle).await;
    assert_eq!(client.peer_info().unwrap().protocol_version, version);
    let tools = client.list_all_tools().await.unwrap();
    assert!(tools.iter().any(|tool| tool.name == "explain_spike"));
    assert!(tools.iter().all(|tool| tool.annotations.as_ref().unwrap().read_only_hint == Some(true)));
    let refused = call(&client, "run_causes", json!({ "run": "/etc" })).await;
    assert_eq!((refused.is_error, document(&refused)["error"]["code"].as_str()), (Some(true), Some("mcp.outside")));
    client.cancel().await.unwrap();
    assert!(child.wait().unwrap().success());
}

fn run(session: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(session);
}

#[test]
fn the_client_of_the_sdk_lists_and_calls_tools_after_a_handshake() {
    run(session(ClientLifecycleMode::Initialize, ProtocolVersion::LATEST_WITH_INITIALIZE));
}

#[test]
fn the_client_of_the_sdk_lists_and_calls_tools_without_a_handshake() {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    run(session(ClientLifecycleMode::Discover { preferred_versions }, ProtocolVersion::V_2026_07_28));
}
