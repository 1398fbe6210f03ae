//! A server, and a scripted client of it.

use fixtures::fake_meter::Bench;
use fixtures::repository::{copy, repository_path};
use serde_json::{Value, json};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};

/// Bytes of an answer.
pub const BYTES_MAX: usize = 2048;

/// A server and the pipes to it.
pub struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    requests: u64,
}

/// The answer of a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Answer {
    pub text: String,
    pub is_error: bool,
}

impl Server {
    /// Started in the directory of the bench with these words.
    pub fn start(bench: &Bench, words: &[&str]) -> Self {
        let mut command = bench.tardy(&[&["mcp"][..], words].concat());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, requests: 0 }
    }

    pub fn send(&mut self, line: &[u8]) {
        let input = self.input.as_mut().unwrap();
        input.write_all(&[line, b"\n"].concat()).unwrap();
        input.flush().unwrap();
    }

    /// The next line of the server, which must be one message.
    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        assert!(!line.chars().any(|letter| letter.is_control() && letter != '\n'), "{line:?}");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// The reply to a request.
    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        self.requests += 1;
        let id = self.requests;
        self.send(
            &serde_json::to_vec(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })).unwrap(),
        );
        let reply = self.receive();
        assert_eq!(reply["id"], id, "{reply}");
        reply
    }

    pub fn call(&mut self, tool: &str, arguments: &Value) -> Answer {
        let reply = self.request("tools/call", &json!({ "name": tool, "arguments": arguments }));
        let text = reply["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{reply}"));
        assert!(text.len() <= BYTES_MAX, "{tool} {arguments} answers {} bytes: {text}", text.len());
        Answer { text: text.into(), is_error: reply["result"]["isError"] == true }
    }

    /// The answer of a tool that is not refused.
    pub fn answer(&mut self, tool: &str, arguments: &Value) -> Value {
        let Answer { text, is_error } = self.call(tool, arguments);
        assert!(!is_error, "{tool} {arguments}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// The code of the problem for which a call is refused.
    pub fn refusal(&mut self, tool: &str, arguments: &Value) -> String {
        let Answer { text, is_error } = self.call(tool, arguments);
        assert!(is_error, "{tool} {arguments}: {text}");
        let problem: Value = serde_json::from_str(&text).unwrap();
        problem["error"]["code"].as_str().unwrap().to_owned()
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Closes its input and waits until it ends.
    pub fn close(&mut self) -> ExitStatus {
        self.input = None;
        self.child.wait().unwrap()
    }

    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

/// A bench with these folders of the repository as archives below `runs`.
pub fn with_runs(names: &[(&str, &str)]) -> Bench {
    let bench = Bench::new();
    fs::create_dir(bench.path("runs")).unwrap();
    for (from, name) in names {
        copy(&repository_path(from), &bench.path("runs").join(name));
    }
    bench
}

/// Every folder in a folder of the repository.
pub fn folders(within: &str) -> Vec<String> {
    let entries = fs::read_dir(repository_path(within)).unwrap().map(Result::unwrap);
    let folders = entries.filter(|entry| entry.path().is_dir());
    let mut names: Vec<String> = folders.map(|entry| format!("{within}/{}", entry.file_name().display())).collect();
    names.sort();
    names
}

/// The last part of a path.
pub fn last(path: &str) -> &str {
    Path::new(path).file_name().and_then(|name| name.to_str()).unwrap()
}
