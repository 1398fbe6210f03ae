//! An S3 server for one test, in memory and on loopback, that can fail as networks and servers do.

use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;
use store::ObjectsAddress;

const BUCKET: &str = "lab";

/// What goes wrong with the next requests of a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The connection ends in the middle of what is sent to the server.
    CutUpload,
    /// The connection ends in the middle of an object.
    CutDownload,
    /// The server answers that it is busy.
    Busy,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Vec<u8>>,
    uploads: BTreeMap<String, BTreeMap<usize, Vec<u8>>>,
    faults: Vec<Fault>,
    requests: usize,
    /// No request is answered until this is false.
    waits: bool,
    /// Number of the process that serves: of an earlier one no request is stored or answered. `None` while there is none.
    process: Option<usize>,
    processes: usize,
}

#[derive(Clone)]
pub struct S3 {
    address: SocketAddr,
    state: Arc<Mutex<State>>,
}

struct Request {
    method: String,
    path: String,
    query: BTreeMap<String, String>,
    head: BTreeMap<String, String>,
    body: Vec<u8>,
}

impl S3 {
    pub fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        server.begin();
        let of = server.clone();
        // It ends with the process of the test.
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (of, process) = (of.clone(), of.process());
                thread::spawn(move || while process.is_some() && of.answer(&stream, process).is_some() {});
            }
        });
        server
    }

    fn process(&self) -> Option<usize> {
        self.state.lock().unwrap().process
    }

    fn begin(&self) {
        let mut state = self.state.lock().unwrap();
        state.processes += 1;
        state.process = Some(state.processes);
    }

    /// Ends in the middle of every request, and begins again with what it stored: a request has an effect and no answer, or neither.
    // The tests of `tardy` use it.
    #[allow(dead_code)]
    pub fn crash(&self, pause: Duration) {
        self.state.lock().unwrap().process = None;
        thread::sleep(pause);
        self.begin();
    }

    pub fn endpoint(&self) -> String {
        format!("http://{}", self.address)
    }

    pub fn address(&self) -> ObjectsAddress {
        let variable = |name: &str| match name {
            "AWS_ENDPOINT_URL" => Some(self.endpoint()),
            "AWS_ACCESS_KEY_ID" | "AWS_SECRET_ACCESS_KEY" => Some("test".to_owned()),
            _ => None,
        };
        ObjectsAddress::parse(&format!("s3://{BUCKET}/tardy"), variable).unwrap()
    }

    pub fn fail(&self, fault: Fault, times: usize) {
        self.state.lock().unwrap().faults = vec![fault; times];
    }

    /// Names and lengths of all objects.
    pub fn objects(&self) -> BTreeMap<String, usize> {
        self.state.lock().unwrap().objects.iter().map(|(name, bytes)| (name.clone(), bytes.len())).collect()
    }

    /// Uploads in parts that are neither complete nor given up.
    pub fn unfinished(&self) -> usize {
        self.state.lock().unwrap().uploads.len()
    }

    pub fn requests(&self) -> usize {
        self.state.lock().unwrap().requests
    }

    /// Changes an object behind the store's back.
    pub fn change(&self, name: &str, change: impl FnOnce(&mut Vec<u8>)) {
        change(self.state.lock().unwrap().objects.get_mut(name).unwrap());
    }

    /// Leaves every request without an answer, until it is called with `false`.
    pub fn wait(&self, waits: bool) {
        self.state.lock().unwrap().waits = waits;
    }

    fn takes(&self, fault: Fault) -> bool {
        let faults = &mut self.state.lock().unwrap().faults;
        let takes = faults.last() == Some(&fault);
        if takes {
            faults.pop();
        }
        takes
    }

    /// Answers a request; `None` at the end of the connection.
    fn answer(&self, stream: &TcpStream, process: Option<usize>) -> Option<()> {
        let mut request = self.read(stream)?;
        let sent = std::mem::take(&mut request.body);
        self.state.lock().unwrap().requests += 1;
        while self.state.lock().unwrap().waits {
            thread::sleep(Duration::from_millis(5));
        }
        let mut out = stream;
        if self.takes(Fault::Busy) {
            return respond(&mut out, "503 Slow Down", "", b"<Error><Code>SlowDown</Code></Error>", request.is_head());
        }
        let mut state = self.state.lock().unwrap();
        if state.process != process {
            return None;
        }
        let name = request.path.strip_prefix(&format!("/{BUCKET}/")).unwrap_or("").to_owned();
        let upload = request.query.get("uploadId").cloned();
        let (status, body) = match (request.method.as_str(), upload) {
            ("PUT", None) => {
                state.objects.insert(name, sent);
                ("200 OK", Vec::new())
            }
            ("PUT", Some(upload)) => {
                let number = request.query["partNumber"].parse().unwrap();
                state.uploads.get_mut(&upload)?.insert(number, sent);
                ("200 OK", Vec::new())
            }
            ("POST", None) => {
                let upload = format!("upload-{}", state.requests);
                state.uploads.insert(upload.clone(), BTreeMap::new());
                let xml = format!("<R><UploadId>{upload}</UploadId></R>");
                ("200 OK", xml.into_bytes())
            }
            ("POST", Some(upload)) => {
                let parts = state.uploads.remove(&upload)?;
                // Amazon refuses smaller parts, but the last.
                let small = parts.values().rev().skip(1).any(|part| part.len() < 5 << 20);
                state.objects.insert(name, parts.into_values().flatten().collect());
                let status = if small { "400 Bad Request" } else { "200 OK" };
                (status, b"<R><ETag>\"x\"</ETag></R>".to_vec())
            }
            ("DELETE", None) => {
                state.objects.remove(&name);
                ("204 No Content", Vec::new())
            }
            ("DELETE", Some(upload)) => {
                state.uploads.remove(&upload);
                ("204 No Content", Vec::new())
            }
            ("GET" | "HEAD", _) if name.is_empty() => ("200 OK", list(&state.objects, &request.query["prefix"])),
            _ => match state.objects.get(&name) {
                Some(bytes) => ("200 OK", bytes.clone()),
                None => ("404 Not Found", b"<Error><Code>NoSuchKey</Code></Error>".to_vec()),
            },
        };
        drop(state);
        if self.process() != process {
            return None;
        }
        if request.method == "GET" && status.starts_with("200") && !request.path.ends_with(BUCKET) {
            if let Some(from) = request.head.get("range").and_then(|range| range.strip_prefix("bytes=")) {
                let from: usize = from.split('-').next()?.parse().ok()?;
                let range = format!("content-range: bytes {from}-{}/{}\r\n", body.len() - 1, body.len());
                return respond(&mut out, "206 Partial Content", &range, &body[from..], false);
            }
            if self.takes(Fault::CutDownload) {
                let head = format!("HTTP/1.1 200 OK\r\n{DATED}content-length: {}\r\n\r\n", body.len());
                out.write_all(head.as_bytes()).ok()?;
                out.write_all(&body[..body.len() / 2]).ok()?;
                return None;
            }
        }
        respond(&mut out, status, "", &body, request.is_head())
    }

    fn read(&self, stream: &TcpStream) -> Option<Request> {
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
        let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
        let (path, query) = target.split_once('?').unwrap_or((&target, ""));
        let query = query.split('&').map(|part| part.split_once('=').unwrap_or((part, "")));
        let query = query.map(|(name, value)| (name.to_owned(), value.replace("%2F", "/"))).collect();
        let head: BTreeMap<String, String> = lines[1..]
            .iter()
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let length = head.get("content-length").map_or(0, |length| length.parse().unwrap());
        let mut body = vec![0; length];
        if length > 0 && self.takes(Fault::CutUpload) {
            reader.read_exact(&mut body[..length / 2]).ok()?;
            return None;
        }
        reader.read_exact(&mut body).ok()?;
        assert!(head["authorization"].starts_with("AWS4-HMAC-SHA256 "), "every request is signed");
        let sum: String = Sha256::digest(&body).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(head["x-amz-content-sha256"], sum, "what is signed is what is sent");
        Some(Request { method, path: path.trim_end_matches('/').to_owned(), query, head, body })
    }
}

impl Request {
    fn is_head(&self) -> bool {
        self.method == "HEAD"
    }
}

const DATED: &str = "etag: \"x\"\r\nlast-modified: Thu, 26 Nov 2026 12:00:00 GMT\r\n";

fn respond(out: &mut &TcpStream, status: &str, more: &str, body: &[u8], is_head: bool) -> Option<()> {
    let head = format!("HTTP/1.1 {status}\r\n{DATED}{more}content-length: {}\r\n\r\n", body.len());
    out.write_all(head.as_bytes()).ok()?;
    if !is_head {
        out.write_all(body).ok()?;
    }
    Some(())
}

fn list(objects: &BTreeMap<String, Vec<u8>>, prefix: &str) -> Vec<u8> {
    let entry = |(name, bytes): (&String, &Vec<u8>)| {
        format!(
            "<Contents><Key>{name}</Key><LastModified>2026-11-26T12:00:00.000Z</LastModified><ETag>\"x\"</ETag>\
             <Size>{}</Size></Contents>",
            bytes.len()
        )
    };
    let entries: String = objects.iter().filter(|(name, _)| name.starts_with(prefix)).map(entry).collect();
    format!("<ListBucketResult><IsTruncated>false</IsTruncated>{entries}</ListBucketResult>").into_bytes()
}
