//! A receiver of HTTP requests on loopback, which keeps them and answers as the test wants. GitHub and GitLab are played as far as
//! messages need them.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// A request as it came.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub head: BTreeMap<String, String>,
    pub body: String,
}

impl Request {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }
}

#[derive(Default)]
struct State {
    requests: Vec<Request>,
    /// The posts to each path.
    posted: BTreeMap<String, Vec<Value>>,
    /// Status of answers, instead of success.
    status: Option<&'static str>,
    waits: bool,
}

#[derive(Clone)]
pub struct Receiver {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Receiver {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let receiver = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let of = receiver.clone();
        // It ends with the process of the test.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let of = of.clone();
                thread::spawn(move || of.answer(&stream));
            }
        });
        receiver
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    pub fn posts(&self) -> Vec<Request> {
        self.requests().into_iter().filter(|request| request.method == "POST").collect()
    }

    /// Answers with this status from now on.
    pub fn refuse(&self, status: Option<&'static str>) {
        self.state.lock().unwrap().status = status;
    }

    /// Takes what comes and answers nothing, until it is called with `false`.
    pub fn wait(&self, waits: bool) {
        self.state.lock().unwrap().waits = waits;
    }

    fn answer(&self, mut stream: &TcpStream) -> Option<()> {
        let request = read(stream)?;
        let path = request.path.split('?').next()?.to_owned();
        let status = {
            let mut state = self.state.lock().unwrap();
            state.requests.push(request.clone());
            if state.status.is_none() && request.method == "POST" {
                state.posted.entry(path.clone()).or_default().push(request.json());
            }
            state.status
        };
        while self.state.lock().unwrap().waits {
            thread::sleep(Duration::from_millis(5));
        }
        let (status, body) = match (status, request.method.as_str()) {
            (Some(status), _) => (status, json!({ "message": format!("no {}", request.body) })),
            (None, "POST") => ("201 Created", json!({ "html_url": "http://forge.example/1" })),
            (None, _) => {
                let posted = self.state.lock().unwrap().posted.get(&path).cloned();
                ("200 OK", Value::Array(posted.unwrap_or_default()))
            }
        };
        let body = body.to_string();
        write!(stream, "HTTP/1.1 {status}\r\ncontent-length: {}\r\nretry-after: 7200\r\n\r\n{body}", body.len()).ok()
    }
}

pub fn read(stream: impl Read) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        match line.trim_end() {
            "" => break,
            line => lines.push(line.to_owned()),
        }
    }
    let mut words = lines.first()?.split(' ');
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let head: BTreeMap<String, String> = lines[1..]
        .iter()
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let mut body = vec![0; head.get("content-length").map_or(0, |length| length.parse().unwrap())];
    reader.read_exact(&mut body).ok()?;
    Some(Request { method, path, head, body: String::from_utf8(body).unwrap() })
}
