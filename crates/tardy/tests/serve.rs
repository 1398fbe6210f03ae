//! `tardy lab serve` as a program: it indexes a directory, answers, ends on a signal, and listens for others with tokens only.

use fixtures::repository::{copy, repository_path};
use fixtures::year;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

const PATIENCE: Duration = Duration::from_secs(120);

struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn of(directory: &Path, options: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(["lab", "serve"]).arg(directory).args(["--listen", "127.0.0.1:0"]).args(options);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
        let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}"));
        let address = address.split('/').next().unwrap().to_owned();
        Self { child, address }
    }

    fn get(&self, path: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        let host = &self.address;
        write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    /// Its exit code after a signal.
    fn end(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
        self.child.wait().unwrap().code()
    }
}

#[test]
fn archives_of_a_directory_become_pages_and_the_server_ends_on_a_signal() {
    let folder = tempfile::tempdir().unwrap();
    let runs = folder.path().join("runs");
    let archives = repository_path("corpus/archives/v1");
    fs::create_dir(&runs).unwrap();
    let server = Serving::of(&runs, &[]);
    assert!(server.get("/", "accept: text/html\r\n").contains("No run yet"), "an empty directory");
    // It is found while the server runs.
    copy(&archives, &runs.join("one"));
    let start = Instant::now();
    let listed = loop {
        let answer = server.get("/api/v1/runs", "");
        if answer.contains("\"digest\":\"") {
            break answer;
        }
        assert!(start.elapsed() < PATIENCE, "the archive was not found: {answer}");
        std::thread::sleep(Duration::from_millis(200));
    };
    let digest = listed.split("\"digest\":\"").nth(1).unwrap().split('"').next().unwrap();
    let report = server.get(&format!("/runs/{digest}"), "accept: text/html\r\n");
    assert!(report.starts_with("HTTP/1.1 200") && report.contains(": worst wake-up "));
    assert!(server.get("/", "accept: text/html\r\n").contains("<table class=\"matrix\""));
    assert!(server.get("/fleet", "accept: text/html\r\n").contains("<table class=\"fleet\""));
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_signal_ends_the_server_cleanly_as_soon_as_its_address_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    for _ in 0..10 {
        assert_eq!(Serving::of(folder.path(), &[]).end(), Some(0));
    }
}

/// A database that accepts connections and says nothing.
#[test]
fn a_signal_ends_a_server_whose_database_does_not_answer() {
    let folder = tempfile::tempdir().unwrap();
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let store = format!("postgres://lab@{}/tardy", silent.local_addr().unwrap());
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(["lab", "serve"]).arg(folder.path()).args(["--listen", "127.0.0.1:0", "--store", &store]);
    let mut server = command.stderr(Stdio::null()).spawn().unwrap();
    let _connection = silent.accept().unwrap();
    rustix::process::kill_process(rustix::process::Pid::from_child(&server), rustix::process::Signal::INT).unwrap();
    let status = server.wait().unwrap();
    assert_eq!(status.signal(), Some(rustix::process::Signal::INT.as_raw()), "it waited: {status}");
}

#[test]
fn a_token_is_printed_once_and_opens_a_server_that_needs_one() {
    let folder = tempfile::tempdir().unwrap();
    let tardy = |words: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_tardy"))
            .args(["lab", "serve"])
            .arg(folder.path())
            .args(words)
            .output()
            .unwrap()
    };
    let refused = tardy(&["--listen", "0.0.0.0:0"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--add-token"));
    for wrong in ["read", "boss:me", "read:two words"] {
        assert_eq!(tardy(&["--add-token", wrong]).status.code(), Some(2), "{wrong}");
    }
    let added = tardy(&["--add-token", "read:me"]);
    assert_eq!(added.status.code(), Some(0));
    let token = String::from_utf8(added.stdout).unwrap().trim().to_owned();
    let server = Serving::of(folder.path(), &["--host", "lab.example"]);
    assert!(server.get("/api/v1/health", "").starts_with("HTTP/1.1 401"));
    let answer = server.get("/api/v1/health", &format!("authorization: Bearer {token}\r\n"));
    assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_typing_error_in_the_words_of_a_server_opens_no_door() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &[&str], why: &str| {
        let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
        let listen = ["--listen", "127.0.0.1:0"];
        tardy.args(["lab", "serve"]).arg(folder.path()).args(listen).args(words).current_dir(folder.path());
        let mut server = tardy.stderr(Stdio::piped()).spawn().unwrap();
        let mut said = String::new();
        let mut stderr = BufReader::new(server.stderr.take().unwrap());
        stderr.read_line(&mut said).unwrap();
        let _ = server.kill();
        server.wait().unwrap();
        assert!(said.contains(why), "{words:?}: {said}");
    };
    fs::write(folder.path().join("empty"), "# none\n").unwrap();
    refused(&["--tokens", "tokns"], "no such file");
    refused(&["--tokens", "empty"], "it has none");
    refused(&["--host", "lab.example"], "leave out --host");
    fs::write(folder.path().join("tokens"), "\n").unwrap();
    refused(&[], "it has none");
    let mut adding = Command::new(env!("CARGO_BIN_EXE_tardy"));
    let added = adding.args(["lab", "serve"]).arg(folder.path()).args(["--add-token", "read:me"]).output().unwrap();
    assert_eq!(added.status.code(), Some(0));
    assert_eq!(Serving::of(folder.path(), &[]).end(), Some(0));
    fs::remove_file(folder.path().join("tokens")).unwrap();
    refused(&[], "was there before");
}

/// Two hosts: a server with tokens, and a `tardy` that uploads what was recorded elsewhere.
#[test]
fn archives_are_pushed_to_a_server_once_with_a_token_that_may() {
    let (lab, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    copy(&repository_path("corpus/archives/v1"), &elsewhere.path().join("nightly/one"));
    let token = |role: &str| {
        let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
        let added = tardy
            .args(["lab", "serve"])
            .arg(lab.path())
            .args(["--add-token", &format!("{role}:{role}")])
            .output()
            .unwrap();
        String::from_utf8(added.stdout).unwrap().trim().to_owned()
    };
    let (read, run) = (token("read"), token("run"));
    fs::write(elsewhere.path().join("lab.token"), format!("{run}\n")).unwrap();
    let server = Serving::of(lab.path(), &[]);
    let address = format!("http://{}", server.address);
    let push = |token: Option<&str>, words: &[&str]| {
        let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
        tardy
            .args(["lab", "store", "push", &address])
            .args(words)
            .current_dir(elsewhere.path())
            .env_remove("TARDY_TOKEN");
        let ended = tardy.envs(token.map(|token| ("TARDY_TOKEN", token))).output().unwrap();
        (ended.status.code(), String::from_utf8(ended.stdout).unwrap(), String::from_utf8(ended.stderr).unwrap())
    };
    for (token, fix) in
        [(None, "--token-file"), (Some("tardy-00"), "--add-token"), (Some(read.as_str()), "the role run")]
    {
        let (code, said, _) = push(token, &["nightly"]);
        assert!(code == Some(1) && said.contains("left out") && said.contains(fix), "{code:?} {said}");
    }
    let authorized = format!("authorization: Bearer {read}\r\n");
    assert!(server.get("/api/v1/runs", &authorized).ends_with("[]"), "nothing of it is there");
    let (code, said, errors) = push(None, &["nightly", "--token-file", "lab.token"]);
    assert!(code == Some(0) && said.contains("  added  nightly/one"), "{code:?} {said} {errors}");
    let digest = said.split(' ').next().unwrap();
    let (code, said, errors) = push(Some(&run), &["nightly/one", "--json"]);
    assert!(code == Some(0) && said.contains("\"known\"") && said.contains(digest), "{code:?} {said} {errors}");
    assert_eq!(server.get("/api/v1/runs", &authorized).matches("\"digest\":\"").count(), 1);
    let report = server.get(&format!("/runs/{digest}"), &format!("accept: text/html\r\n{authorized}"));
    assert!(report.starts_with("HTTP/1.1 200") && report.contains(": worst wake-up "));
    assert_eq!(server.end(), Some(0));
}

/// A lab with bad loads, ones that held their limit, and undecided ones, and what the command line lists of it.
fn lab_of_a_year() -> (tempfile::TempDir, Vec<Value>, String) {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64;
    year::write(&folder.path().join("runs"), now, 30.0);
    let tardy = |words: &[&str]| {
        let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
        let ended = tardy.args(["lab", "store"]).args(words).current_dir(folder.path()).output().unwrap();
        assert_eq!(ended.status.code(), Some(0), "{}", String::from_utf8_lossy(&ended.stderr));
        String::from_utf8(ended.stdout).unwrap()
    };
    tardy(&["ingest", "runs"]);
    let document: Value = serde_json::from_str(&tardy(&["list", "--json"])).unwrap();
    let text = tardy(&["list"]);
    let rows = document["rows"].as_array().unwrap().clone();
    (folder, rows, text)
}

/// The state in each chip of a page or a part of one.
fn chips(page: &str) -> Vec<String> {
    let chips = page.split("class=\"state\" data-state=\"").skip(1);
    chips.map(|rest| rest.split('"').next().unwrap().to_owned()).collect()
}

#[test]
fn a_load_has_one_state_in_one_word_on_every_surface() {
    let (folder, listed, text) = lab_of_a_year();
    let words: BTreeSet<&str> = listed.iter().map(|row| row["standing"].as_str().unwrap()).collect();
    assert_eq!(
        words.into_iter().collect::<Vec<_>>(),
        ["bad", "held", "undecided"],
        "every state of runs without a plan is compared"
    );
    for word in ["PASS", "FAIL", "measured", "over limit", "no verdict"] {
        assert!(!text.contains(word), "{word}: {text}");
    }
    let server = Serving::of(&folder.path().join("runs"), &[]);
    let body = |path: &str, headers: &str| server.get(path, headers).split_once("\r\n\r\n").unwrap().1.to_owned();
    let served = body("/api/v1/fleet", "");
    let served: Value = serde_json::from_str(&served[served.find('{').unwrap()..=served.rfind('}').unwrap()]).unwrap();
    let served = served["rows"].as_array().unwrap();
    let metrics = body("/metrics", "");
    let fleet = body("/fleet", "accept: text/html\r\n");
    assert_eq!(listed.len(), served.len());
    for (row, served) in listed.iter().zip(served) {
        let scenario = row["scenario"].as_str().unwrap();
        let (state, run) = (row["standing"].as_str().unwrap(), row["newest"]["standing"].as_str().unwrap());
        let board = row["newest"]["board"].as_str().unwrap();
        assert_eq!(served["standing"], state, "API: {row}");
        let metric = format!("tardy_load_state{{state=\"{state}\",");
        let metric = metrics.lines().find(|line| line.starts_with(&metric) && line.contains(scenario)).unwrap();
        assert!(metric.ends_with(" 1.0"), "{metric}");
        // Names of hostile boards are escaped on pages; the others find their lines by name.
        if !year::BOARDS.iter().any(|known| known.name == board) {
            continue;
        }
        let load = row["newest"]["load"].as_str().unwrap();
        let of_load = |line: &&str| line.starts_with(board) && line.split_whitespace().nth(1) == Some(load);
        let line = text.lines().find(of_load).unwrap_or_else(|| panic!("{board} {load}: {text}"));
        assert_eq!(line.split_whitespace().nth(3), Some(state), "{line}");
        let of_board =
            fleet.split(&format!("data-board=\"{board}\"")).nth(1).unwrap().split("</tbody>").next().unwrap();
        let of_row = of_board.split(scenario).nth(1).unwrap().split("</tr>").next().unwrap();
        assert_eq!(chips(of_row)[0], run, "Fleet: {of_row}");
        let worst = listed.iter().filter(|other| other["newest"]["board"] == board).map(|other| &other["standing"]);
        let worst = ["bad", "held", "good", "undecided"].into_iter().find(|state| worst.clone().any(|of| of == state));
        assert_eq!(Some(chips(of_board)[0].as_str()), worst, "the board: {of_board}");
        let page = body(&format!("/boards/{board}?scenario={scenario}"), "accept: text/html\r\n");
        let shown = chips(&page);
        assert_eq!((Some(shown[0].as_str()), shown[1].as_str()), (worst, run), "board page of {board}");
        let detail = body(&format!("/api/v1/runs/{}", row["newest"]["digest"].as_str().unwrap()), "");
        assert!(detail.contains(&format!("\"standing\":\"{run}\"")), "{detail}");
    }
    assert_eq!(server.end(), Some(0));
}

#[test]
fn a_mistyped_directory_is_an_error_and_reading_makes_no_index() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |words: &[&str], fix: &str| {
        let mut tardy = Command::new(env!("CARGO_BIN_EXE_tardy"));
        let ended = tardy.arg("lab").args(words).current_dir(folder.path()).output().unwrap();
        let said = String::from_utf8(ended.stderr).unwrap();
        assert!(ended.status.code() == Some(2) && said.contains(fix), "{words:?}: {said}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{words:?} made something");
    };
    refused(&["serve", "typo", "--listen", "127.0.0.1:0"], "mkdir -p typo");
    for words in [
        &["store", "list"][..],
        &["store", "doctor"],
        &["store", "alerts"],
        &["store", "prune", "--dry-run"],
        &["queue", "list"],
        &["queue", "trigger", "list"],
        &["queue", "list", "--store", "typo"],
    ] {
        refused(words, "tardy lab store ingest RUN");
    }
}
