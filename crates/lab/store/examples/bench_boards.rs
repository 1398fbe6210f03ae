//! `make bench-lab`: a lab with boards that report each minute, on one database with two servers and four workers:
//! `bench_boards TARDY [BOARDS [MINUTES]]`. Prints how late the archives were acknowledged; asserts nothing.

use fixtures::postgres;
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use store::PackedArchive;
use synthetic_run::SyntheticRun;

const MINUTE: Duration = Duration::from_secs(60);
const SERVERS: usize = 2;
const WORKERS: usize = 4;
/// Boards that report at the same moment.
const SENDERS: usize = 16;
/// A board's plan: a second on this machine.
const PLAN: &str = "about = \"a second\"\n\n[measurement]\nduration = \"1s\"\n\n[verdict]\naccept = [\"virtual\", \"container\", \"non-rt\"]\n";
const ATTEMPTS: u32 = 100;
const JOB_EVERY: Duration = Duration::from_secs(30);

/// A program that ends with this one, whatever happens.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = kill_process(Pid::from_child(&self.0), Signal::INT);
        let _ = self.0.wait();
    }
}

/// Uploads that were refused and made again.
static REFUSED: AtomicUsize = AtomicUsize::new(0);

struct Lab<'a> {
    tardy: &'a str,
    database: String,
    archives: &'a Path,
}

impl Lab<'_> {
    fn tardy(&self, verb: &[&str]) -> Command {
        let mut command = Command::new(self.tardy);
        command.args(verb).args(["--store", &self.database]).current_dir(self.archives);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// A server, and its address.
    fn serve(&self) -> (Running, String) {
        let mut command = self.tardy(&["serve", ".", "--listen", "127.0.0.1:0"]);
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap());
        let mut line = String::new();
        lines.read_line(&mut line).unwrap();
        // It may print more.
        std::thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
        let address = line.split("http://").nth(1).unwrap_or_else(|| panic!("{line}")).split('/').next().unwrap();
        (Running(child), address.to_owned())
    }

    fn work(&self, number: usize) -> Running {
        let name = format!("worker-{number}");
        let mut command = self.tardy(&["worker", "--archives", ".", "--board", "bench=local", "--name", &name]);
        Running(command.spawn().unwrap())
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, default: usize| words.get(at).map_or(default, |word| word.parse().expect("a number"));
    let (boards, minutes) = (number(1, 1000), number(2, 10));
    let tardy = fs::canonicalize(words.first().expect("the path of tardy")).unwrap();
    let database = postgres::Server::start();
    let folder = tempfile::tempdir().unwrap();
    let lab = Lab { tardy: tardy.to_str().unwrap(), database: database.database(), archives: folder.path() };
    let servers: Vec<(Running, String)> = (0..SERVERS).map(|_| lab.serve()).collect();
    let _workers: Vec<Running> = (0..WORKERS).map(|number| lab.work(number)).collect();
    let addresses: Vec<&str> = servers.iter().map(|(_, address)| address.as_str()).collect();
    println!(
        "{boards} boards report each minute for {minutes} min; {SERVERS} servers, {WORKERS} workers, one PostgreSQL"
    );
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| queue_jobs(&lab, &ended));
        let pages = scope.spawn(|| ask_for_pages(addresses[0], &ended));
        let reports = send_reports(&addresses, boards, minutes);
        ended.store(true, Ordering::Relaxed);
        print_times("archives acknowledged after their moment", &reports);
        print_times("first page answered", &pages.join().unwrap());
        println!("{} uploads were refused by a busy server and made again", REFUSED.load(Ordering::Relaxed));
        let beyond = reports.iter().filter(|late| **late > MINUTE).count();
        println!("{beyond} of {} acknowledged after the board's next report was due", reports.len());
    });
    for (server, _) in &servers {
        println!("memory of a server at its peak: {} MB", peak_kb(&server.0) / 1000);
    }
    println!("jobs: {}", jobs(addresses[0]));
}

/// How long after its moment each archive was acknowledged; the moments of all boards are spread over the minute.
fn send_reports(addresses: &[&str], boards: usize, minutes: usize) -> Vec<Duration> {
    let late: Mutex<Vec<Duration>> = Mutex::default();
    let (next, start) = (AtomicUsize::new(0), Instant::now());
    std::thread::scope(|scope| {
        for _ in 0..SENDERS {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= boards * minutes {
                        return;
                    }
                    let (digest, stream) = packed(number % boards, number / boards);
                    let due = MINUTE.mul_f64(number as f64 / boards as f64);
                    std::thread::sleep(due.saturating_sub(start.elapsed()));
                    let address = addresses[number % addresses.len()];
                    send(address, &digest, &stream);
                    late.lock().unwrap().push(start.elapsed().saturating_sub(due));
                }
            });
        }
    });
    late.into_inner().unwrap()
}

/// Sends an archive until it is acknowledged. A board whose report is refused tries again, and is late.
fn send(address: &str, digest: &str, stream: &[u8]) {
    for _ in 0..ATTEMPTS {
        match request(address, &format!("PUT /api/v1/archives/{digest}"), stream) {
            (200 | 201, _) => return,
            // As many archives as the server takes at a time are being uploaded.
            (503, _) => _ = REFUSED.fetch_add(1, Ordering::Relaxed),
            (status, answer) => panic!("{digest} was refused with {status}: {answer}"),
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    panic!("{digest} was refused {ATTEMPTS} times");
}

/// Address and stream of a board's report.
fn packed(board: usize, minute: usize) -> (String, Vec<u8>) {
    let folder = tempfile::tempdir().unwrap();
    let started = (minute as i64 * 60 + 1_700_000_000) * 1_000_000_000;
    SyntheticRun::of(&format!("board{board}"), "6.12.8-rt", started).write(folder.path());
    let (packed, mut stream) = (PackedArchive::of(folder.path()).unwrap(), Vec::new());
    packed.write(&mut stream).unwrap();
    (packed.digest(), stream)
}

/// Status and body of an answer.
fn request(address: &str, line: &str, body: &[u8]) -> (u16, String) {
    let mut stream = TcpStream::connect(address).unwrap();
    let length = body.len();
    let head = format!("{line} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
    let mut answer = Vec::new();
    // A server that refuses may close before it has read everything.
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body));
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
    (status, answer.split_once("\r\n\r\n").map_or(String::new(), |(_, body)| body.to_owned()))
}

fn queue_jobs(lab: &Lab, ended: &AtomicBool) {
    let plan = lab.archives.join("second.toml");
    fs::write(&plan, PLAN).unwrap();
    while !ended.load(Ordering::Relaxed) {
        let add = ["queue", "add", "second.toml", "--board", "bench", "--archives", "."];
        assert!(lab.tardy(&add).status().unwrap().success());
        wait(JOB_EVERY, ended);
    }
}

fn ask_for_pages(address: &str, ended: &AtomicBool) -> Vec<Duration> {
    let mut times = Vec::new();
    while !ended.load(Ordering::Relaxed) {
        let start = Instant::now();
        assert_eq!(request(address, "GET /", &[]).0, 200);
        times.push(start.elapsed());
        wait(Duration::from_secs(5), ended);
    }
    times
}

fn wait(time: Duration, ended: &AtomicBool) {
    let start = Instant::now();
    while start.elapsed() < time && !ended.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(200));
    }
}

fn print_times(what: &str, times: &[Duration]) {
    let mut sorted = times.to_vec();
    sorted.sort();
    let ms = |part: f64| sorted[((sorted.len() - 1) as f64 * part) as usize].as_secs_f64() * 1e3;
    println!("{what}: median {:.0} ms, p99 {:.0} ms, max {:.0} ms, of {}", ms(0.5), ms(0.99), ms(1.0), sorted.len());
}

fn peak_kb(child: &Child) -> u64 {
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().split(' ').next().unwrap().parse().unwrap()
}

/// Jobs by state.
fn jobs(address: &str) -> String {
    let (_, body) = request(address, "GET /api/v1/jobs", &[]);
    ["queued", "running", "done", "failed"]
        .map(|state| format!("{} {state}", body.matches(&format!("\"state\":\"{state}\"")).count()))
        .join(", ")
}
