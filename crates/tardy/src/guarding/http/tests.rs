//! Tests of the server, over connections of their own.

use super::super::entry::Fact;
use super::super::ring::DiskRing;
use super::*;
use serde_json::Value;
use std::io::{Read, Write};
use tempfile::TempDir;

/// A server over a log of some entries.
struct Tested {
    folder: TempDir,
    address: SocketAddr,
    saved: Arc<AtomicU64>,
    http: Option<Http>,
}

impl Tested {
    fn on(address: &str, entries: usize) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut ring = DiskRing::open(folder.path(), 8).unwrap();
        for _ in 0..entries {
            ring.append(Fact::Gap { ms: 1 }).unwrap();
        }
        let address: SocketAddr = address.parse().unwrap();
        // A port that was free a moment ago.
        let probe = std::net::TcpListener::bind(address).unwrap();
        let address = SocketAddr::new(address.ip(), probe.local_addr().unwrap().port());
        drop(probe);
        let saved = Arc::new(AtomicU64::new(0));
        let served = Served {
            ring: folder.path().to_owned(),
            figures: Arc::default(),
            requests: MeterRequests::default(),
            saved: Arc::clone(&saved),
        };
        let settings = HttpSettings { listen: address, token_file: None };
        let http = Http::start(&settings, Path::new(""), served).unwrap();
        Self { folder, address, saved, http: Some(http) }
    }

    fn token(&self) -> String {
        std::fs::read_to_string(self.folder.path().join(TOKEN_FILE)).unwrap().trim().to_owned()
    }

    /// Status and body.
    fn ask(&self, head: &str) -> (u16, String) {
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", self.address.port())).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = String::new();
        let _ = stream.read_to_string(&mut answer);
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        (status, answer.split_once("\r\n\r\n").map_or("", |(_, body)| body).to_owned())
    }

    fn get(&self, path: &str) -> (u16, String) {
        self.ask(&format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n"))
    }

    fn send(&self, request: &str, token: &str) -> u16 {
        self.ask(&format!("{request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\r\n")).0
    }
}

impl Drop for Tested {
    fn drop(&mut self) {
        self.http.take().into_iter().for_each(Http::end);
    }
}

#[test]
fn figures_and_accounts_are_bounded_answers_on_loopback() {
    let tested = Tested::on("127.0.0.1:0", 450);
    let (status, text) = tested.get("/metrics");
    assert!(status == 200 && text.contains("tardy_guard_misses_total 0"), "{text}");
    let numbers = |path: &str| -> Vec<u64> {
        let (status, text) = tested.get(path);
        assert_eq!(status, 200, "{text}");
        let of = |line: &str| serde_json::from_str::<Value>(line).unwrap()["number"].as_u64().unwrap();
        text.lines().map(of).collect()
    };
    assert!(numbers("/accounts").into_iter().eq(1..=200));
    assert!(numbers("/accounts?after=400").into_iter().eq(401..=450));
    assert!(numbers("/accounts?after=450").is_empty());
    for (path, expected) in [("/accounts?after=x", 400), ("/accounts?before=1", 400), ("/save", 405), ("/", 404)] {
        assert_eq!(tested.get(path).0, expected, "{path}");
    }
}

#[test]
fn nothing_is_saved_without_the_token_and_no_foreign_name_is_answered() {
    let tested = Tested::on("127.0.0.1:0", 1);
    let token = tested.token();
    for wrong in ["", "x", &token[1..], &format!("{token}x")] {
        assert_eq!(tested.send("POST /save", wrong), 401, "{wrong}");
    }
    assert_eq!(tested.ask("POST /save HTTP/1.1\r\nhost: localhost\r\n\r\n").0, 401);
    for host in ["evil.example", "localhost.evil.example", "10.0.0.1"] {
        assert_eq!(tested.ask(&format!("GET /accounts HTTP/1.1\r\nhost: {host}\r\n\r\n")).0, 421, "{host}");
    }
    assert_eq!(tested.ask("GET /metrics HTTP/1.1\r\nhost: 127.0.0.1:9\r\n\r\n").0, 200);
    assert_eq!(tested.ask("GET /metrics HTTP/1.1\r\nhost: [::1]:9\r\n\r\n").0, 200);
}

#[test]
fn a_save_answers_with_the_number_of_its_account() {
    let tested = Tested::on("127.0.0.1:0", 1);
    let saved = Arc::clone(&tested.saved);
    let requests = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        saved.store(17, Relaxed);
    });
    let head = format!("POST /save HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n\r\n", tested.token());
    let (status, body) = tested.ask(&head);
    requests.join().unwrap();
    assert_eq!((status, body.as_str()), (200, "{\"number\":17}\n"));
    assert_eq!(tested.send("POST /save", &tested.token()), 202, "no thread woke");
}

#[test]
fn on_an_address_of_the_network_everything_needs_the_token() {
    let tested = Tested::on("0.0.0.0:0", 1);
    for path in ["/metrics", "/accounts", "/save", "/"] {
        assert_eq!(tested.get(path).0, 401, "{path}");
    }
    assert_eq!(tested.send("GET /metrics", &tested.token()), 200);
    assert_eq!(tested.send("GET /accounts", &tested.token()), 200);
}

#[test]
fn a_client_that_sends_too_much_or_nothing_ends_and_the_others_are_answered() {
    let tested = Tested::on("127.0.0.1:0", 1);
    let long = format!("GET /metrics HTTP/1.1\r\nhost: localhost\r\nx: {}\r\n\r\n", "x".repeat(64 << 10));
    assert_ne!(tested.ask(&long).0, 200);
    let connect = || std::net::TcpStream::connect(tested.address).unwrap();
    let mut silent: Vec<_> = (0..CONNECTIONS_MAX + 4).map(|_| connect()).collect();
    fixtures::waiting::wait_until("the silent ones are closed", || tested.get("/metrics").0 == 200);
    let mut last = silent.pop().unwrap();
    last.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let mut answer = Vec::new();
    let waited = last
        .read_to_end(&mut answer)
        .is_err_and(|error| matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut));
    assert!(!waited && !answer.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(&answer));
}
