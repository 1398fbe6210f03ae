//! `tardy guard` with the real meter and receivers on other ends: a broker, a collector, a webhook, a server of a lab, programs that ask.

use crate::guard_live::Guarded;
use fixtures::receivers::{Broker, Web};
use fixtures::waiting::wait_until;
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// `tardy lab serve` with an empty directory.
struct Lab {
    child: Child,
    address: String,
}

impl Lab {
    fn serve(directory: &Path) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(["lab", "serve"]).arg(directory).args(["--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}"));
        Self { address: address.split('/').next().unwrap().to_owned(), child }
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The body of an answer.
fn ask(address: &str, request: &str, headers: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n{headers}\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned()
}

/// The address at which the newest guard answers.
fn address(guarded: &Guarded) -> Option<String> {
    let lines = guarded.lines();
    let (_, after) = lines.rsplit_once("answers on http://")?;
    after.split_once(';').map(|(address, _)| address.to_owned())
}

#[test]
fn accounts_reach_a_broker_a_collector_and_a_lab_and_programs_ask_for_them() {
    let (broker, collector, hanging) = (Broker::start(), Web::start("200 OK"), Web::start(""));
    let folder = tempfile::tempdir().unwrap();
    let lab = Lab::serve(folder.path());
    let tables = format!(
        "[http]\nlisten = \"127.0.0.1:0\"\n[mqtt]\nhost = \"127.0.0.1\"\nport = {}\ntopic = \"arm/misses\"\n\
         [otlp]\nendpoint = \"http://{}\"\n[webhook]\nurl = \"http://{}\"\n[lab]\nserver = \"http://{}\"\n",
        broker.address.port(),
        collector.address,
        hanging.address,
        lab.address
    );
    let Some(mut guarded) = Guarded::configured(&["hog"; 12], &tables) else { return };
    wait_until("a message of a miss", || {
        broker.published().iter().any(|message| message.payload.contains("\"kind\":\"miss\""))
    });
    let first = broker.published().swap_remove(0);
    assert_eq!(first.topic, "arm/misses");
    let account: Value = serde_json::from_str(&first.payload).unwrap();
    assert!(guarded.has(|entry| *entry == account), "{account}");
    wait_until("a record of a miss", || {
        collector.posted().iter().any(|request| request.path == "/v1/logs" && request.body.contains("tardy.guard.miss"))
    });
    wait_until("the guard answers", || address(&guarded).is_some());
    let address = address(&guarded).unwrap();
    wait_until("the counters have the webhook that hangs", || {
        ask(&address, "GET /metrics", "").contains("tardy_guard_waiting{output=\"webhook\"}")
    });
    let token = fs::read_to_string(guarded.folder.path().join("ring/http-token")).unwrap();
    let authorization = format!("authorization: Bearer {}\r\n", token.trim());
    let saved: Value = serde_json::from_str(&ask(&address, "POST /save", &authorization)).unwrap();
    let number = saved["number"].as_u64().unwrap_or_else(|| panic!("{saved}: {}", guarded.lines()));
    assert!(guarded.has(|entry| entry["number"] == number && entry["kind"] == "saved"));
    let listed = ask(&address, &format!("GET /accounts?after={}", number - 1), "");
    let first: Value = serde_json::from_str(listed.lines().next().unwrap()).unwrap();
    assert_eq!((&first["number"], &first["kind"]), (&number.into(), &"saved".into()));
    assert!(guarded.end(Signal::TERM), "{}", guarded.lines());
    assert!(collector.posted().iter().any(|request| request.path == "/v1/metrics"));
    assert!(guarded.has(|entry| entry["kind"] == "archived"));
    // A busy machine may have left it to the next guard.
    guarded.start();
    let begun = || guarded.entries().iter().filter(|entry| entry["kind"] == "started").count();
    wait_until("the next guard has begun", || begun() == 2);
    wait_until("the lab has the archive", || ask(&lab.address, "GET /api/v1/runs", "").contains("\"digest\":\""));
    assert!(guarded.end(Signal::TERM), "{}", guarded.lines());
}

#[test]
fn accounts_wait_in_the_log_for_the_next_guard_while_a_receiver_is_down() {
    let receiver = Web::start("503 Service Unavailable");
    let tables = format!("[webhook]\nurl = \"http://{}\"\n", receiver.address);
    let Some(mut guarded) = Guarded::configured(&["hog"; 12], &tables) else { return };
    wait_until("an account is refused", || !receiver.posted().is_empty());
    assert!(!guarded.end(Signal::KILL));
    let waiting: Vec<Value> = guarded.entries().into_iter().filter(|entry| entry["kind"] == "miss").collect();
    assert!(!waiting.is_empty());
    let before = receiver.posted().len();
    receiver.answer("200 OK", "");
    guarded.start();
    let taken = || -> Vec<Value> {
        let after = receiver.posted().split_off(before);
        after.iter().map(|request| serde_json::from_str(&request.body).unwrap()).collect()
    };
    wait_until("they are taken", || taken().len() >= waiting.len());
    assert_eq!(taken()[..waiting.len()], waiting, "in order");
    assert!(guarded.end(Signal::TERM), "{}", guarded.lines());
}
