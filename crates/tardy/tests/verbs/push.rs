//! `tardy lab store push` to servers that are busy, break off, or are none. `tests/serve.rs` pushes to `tardy lab serve`.

use archive::packed::{PackedLimits, PackedReader};
use fixtures::fake_meter::*;
use fixtures::repository::repository_path;
use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

/// Behaviour of a server with one connection, after it has read the head of the request.
#[derive(Clone, Copy)]
enum Does {
    /// Answers with this status and body, without asking for the body of the request.
    Says(&'static str, &'static str),
    /// Asks for the body, and closes the connection in the middle of it.
    Breaks,
    /// Asks for the body, reads it, and says that it is stored.
    Takes,
}

/// Head and body.
type Received = (String, Vec<u8>);

/// A server for as many connections. Returns its address, and what it received with each.
fn server(does: Vec<Does>) -> (String, JoinHandle<Vec<Received>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    let thread = std::thread::spawn(move || does.into_iter().map(|does| connection(&listener, does)).collect());
    (address, thread)
}

fn connection(listener: &TcpListener, does: Does) -> Received {
    let (mut stream, _) = listener.accept().unwrap();
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(reader.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let value = |name: &str| head.lines().find_map(|line| line.strip_prefix(name)).map(str::to_owned);
    let length: usize = value("content-length: ").unwrap().parse().unwrap();
    let mut body = Vec::new();
    match does {
        Does::Says(status, text) => {
            let length = text.len();
            write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {length}\r\n\r\n{text}").unwrap();
        }
        Does::Breaks => {
            go_on(&mut stream);
            reader.take(100).read_to_end(&mut body).unwrap();
        }
        Does::Takes => {
            go_on(&mut stream);
            reader.take(length as u64).read_to_end(&mut body).unwrap();
            let digest = head.split(['/', ' ']).nth(5).unwrap();
            let stored = format!("{{\"digest\":\"{digest}\",\"id\":\"\",\"board\":\"\"}}");
            let length = stored.len();
            write!(stream, "HTTP/1.1 201 Created\r\ncontent-length: {length}\r\n\r\n{stored}").unwrap();
        }
    }
    (head, body)
}

fn go_on(stream: &mut TcpStream) {
    stream.write_all(b"HTTP/1.1 100 Continue\r\n\r\n").unwrap();
}

/// A bench with two archives.
fn with_archives() -> Bench {
    let bench = Bench::new();
    let corpus = repository_path("corpus/archives/v1");
    for name in ["one", "two"] {
        let to = bench.path("lab").join(name);
        fs::create_dir_all(&to).unwrap();
        for file in ["manifest.json", "stream.tardy"] {
            fs::copy(corpus.join(file), to.join(file)).unwrap();
        }
    }
    bench
}

fn push(bench: &Bench, words: &[&str]) -> (Option<i32>, Value, String) {
    let mut tardy = bench.tardy(&[&["lab", "store", "push"], words, &["--json"]].concat());
    let ended = tardy.env("TARDY_TOKEN", "tardy-0123").output().unwrap();
    let document = serde_json::from_slice(&ended.stdout).unwrap_or_default();
    (ended.status.code(), document, String::from_utf8(ended.stderr).unwrap())
}

const BUSY: Does = Does::Says("503 Busy\r\nretry-after: 1", "{\"detail\":\"busy\"}");

#[test]
fn a_busy_server_is_waited_for_and_a_broken_connection_is_made_again() {
    let bench = with_archives();
    let (address, server) = server(vec![BUSY, Does::Breaks, Does::Takes]);
    let (code, document, said) = push(&bench, &[&address, "lab/one"]);
    assert_eq!((code, &document["runs"][0]["outcome"]), (Some(0), &Value::from("added")), "{document} {said}");
    assert!(said.contains("busy; ") && said.contains(" 1 s") && said.contains(" 2 s"), "{said}");
    let requests = server.join().unwrap();
    for (head, _) in &requests {
        assert!(head.contains("expect: 100-continue\r\n") && head.contains("authorization: Bearer tardy-0123\r\n"));
    }
    assert!(requests[0].1.is_empty(), "nothing is sent unasked");
    let mut stream = PackedReader::new(requests[2].1.as_slice(), PackedLimits { files_max: 9, bytes_max: 1 << 20 });
    let names: Vec<String> = std::iter::from_fn(|| stream.next_file().unwrap()).map(|file| file.name).collect();
    assert_eq!(names, ["manifest.json", "stream.tardy"]);
    assert_eq!(document["runs"][0]["bytes"], requests[2].1.len());
}

#[test]
fn what_is_no_lab_or_refuses_everything_is_asked_once() {
    let bench = with_archives();
    for (answer, text) in [
        (Does::Says("200 OK", "<html>"), "is it `tardy lab serve`?"),
        (Does::Says("403 Forbidden", "{\"detail\":\"role\",\"fix\":\"a fix\"}"), "role; a fix"),
    ] {
        let (address, server) = server(vec![answer]);
        let (code, document, said) = push(&bench, &[&address, "lab"]);
        server.join().unwrap();
        let because = |at: usize| document["left_out"][at]["because"].as_str().unwrap();
        assert_eq!(code, Some(1), "{document} {said}");
        assert!(because(0).contains(text) && because(1).contains("not sent, as"), "{document}");
    }
    // No server listens on this port.
    let (code, document, _) = push(&bench, &["http://127.0.0.1:1", "lab/one"]);
    assert_eq!(code, Some(1));
    assert!(document["left_out"][0]["because"].as_str().unwrap().contains("`tardy lab serve`"), "{document}");
}

#[test]
fn wrong_addresses_and_tokens_are_wrong_usage() {
    let bench = with_archives();
    fs::write(bench.path("empty"), "\n").unwrap();
    fs::write(bench.path("lines"), "a\nb\n").unwrap();
    for (words, text) in [
        (&["https://lab.example/runs", "lab/one"][..], "without a path"),
        (&["lab.example", "lab/one"], "http://HOST:PORT"),
        (&["http://127.0.0.1:1", "lab/one", "--token-file", "missing"], "failed to read the token"),
        (&["http://127.0.0.1:1", "lab/one", "--token-file", "empty"], "--add-token"),
        (&["http://127.0.0.1:1", "lab/one", "--token-file", "lines"], "--add-token"),
    ] {
        let (code, _, said) = push(&bench, words);
        assert!(code == Some(2) && said.contains(text), "{words:?}: {code:?} {said}");
    }
    let missing = push(&bench, &["http://127.0.0.1:1", "nowhere"]);
    assert_eq!((missing.0, missing.1["left_out"].as_array().unwrap().len()), (Some(1), 1));
}
