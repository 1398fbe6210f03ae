//! A lab under load whose processes are killed at random: servers, workers, database and object store. Afterwards every acknowledged archive
//! is there once, in the index and in the object store, and every job is done, without a lease.

use fixtures::fake_meter::*;
use fixtures::postgres::{self, Server};
use fixtures::s3::S3;
use prerequisites::require;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};
use synthetic_run::SyntheticRun;

const WAIT_MAX: Duration = Duration::from_secs(300);
const UPLOADERS: usize = 2;
/// So that the audit, which reads every archive, takes no longer than the kills.
const BETWEEN_UPLOADS: Duration = Duration::from_millis(200);
/// Two servers, two workers, the database, the object store.
const VICTIMS: usize = 6;
const PLAN: &str = "loads = [\"none\"]\n[measurement]\nduration = \"2s\"\n";

/// `LAB_KILLS=200` for as many; the default takes half a minute.
fn kills() -> usize {
    std::env::var("LAB_KILLS").ok().and_then(|count| count.parse().ok()).unwrap_or(12)
}

/// A time from 0 to `below_ms`, the same sequence each time.
fn pause(state: &mut u64, below_ms: u64) -> Duration {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    Duration::from_millis((*state >> 33) % below_ms)
}

/// A program that is started again whenever it ended.
struct Kept<'a> {
    start: Box<dyn Fn() -> Command + Sync + 'a>,
    child: Mutex<Option<Child>>,
}

impl<'a> Kept<'a> {
    fn of(start: impl Fn() -> Command + Sync + 'a) -> Self {
        Self { start: Box::new(start), child: Mutex::new(None) }
    }

    fn keep(&self) {
        let mut child = self.child.lock().unwrap();
        if child.as_mut().is_none_or(|child| child.try_wait().unwrap().is_some()) {
            *child = Some((self.start)().stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
        }
    }

    fn kill(&self) {
        if let Some(mut child) = self.child.lock().unwrap().take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }
}

impl Drop for Kept<'_> {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Every job, as a server has them; `None` if it does not answer.
fn jobs(server: &str) -> Option<Vec<Value>> {
    let mut stream = TcpStream::connect(server).ok()?;
    write!(stream, "GET /api/v1/jobs?count=1000 HTTP/1.1\r\nhost: {server}\r\nconnection: close\r\n\r\n").ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).ok()?;
    serde_json::from_str(answer.strip_prefix("HTTP/1.1 200 OK")?.split_once("\r\n\r\n")?.1).ok()
}

/// Ends what goes on, also where an assertion failed.
struct End<'a>([&'a AtomicBool; 2]);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|goes_on| goes_on.store(false, Ordering::Relaxed));
    }
}

/// A lab in a database and an object store.
struct Lab {
    bench: Bench,
    database: Server,
    objects: S3,
    index: String,
}

impl Lab {
    fn new() -> Self {
        let (database, objects) = (Server::start(), S3::start());
        let index = database.database();
        Self { bench: ending_well(measuring()), database, objects, index }
    }

    /// `tardy` with the keys of the object store.
    fn tardy(&self, words: &[&str]) -> Command {
        let mut command = self.bench.tardy(words);
        command.env("AWS_ENDPOINT_URL", self.objects.endpoint());
        command.env("AWS_ACCESS_KEY_ID", "test").env("AWS_SECRET_ACCESS_KEY", "test");
        command
    }

    /// The answer of a verb of the index, whose archives this host keeps in a directory.
    fn document(&self, words: &[&str], index: &str, directory: &str) -> Value {
        let place = ["--store", index, "--archives", directory, "--artefacts", "s3://lab/tardy", "--json"];
        let ended = Ended::of(self.tardy(&[words, &place].concat()).output().unwrap());
        assert_eq!(ended.code, Some(0), "{words:?}: {}{}", ended.stdout, ended.stderr);
        ended.json()
    }

    /// Uploads one new archive after another until the end, each until a server acknowledged it.
    fn uploads(
        &self,
        number: &AtomicI64,
        servers: &[String],
        goes_on: &AtomicBool,
        acknowledged: &Mutex<BTreeSet<String>>,
    ) {
        while goes_on.load(Ordering::Relaxed) {
            let number = number.fetch_add(1, Ordering::Relaxed);
            let name = format!("new/{number}");
            SyntheticRun::of("remote", "6.1.0", 1_000_000_000 * number).write(&self.bench.path(&name));
            let start = Instant::now();
            for server in servers.iter().cycle().skip(number as usize % 2) {
                assert!(start.elapsed() < WAIT_MAX, "no server takes {name}");
                let push = ["lab", "store", "push", server, &name, "--json"];
                let ended = Ended::of(self.tardy(&push).output().unwrap());
                if ended.code == Some(0) {
                    let digest = ended.json()["runs"][0]["digest"].as_str().unwrap().to_owned();
                    acknowledged.lock().unwrap().insert(digest);
                    break;
                }
            }
            std::thread::sleep(BETWEEN_UPLOADS);
        }
    }

    /// Each acknowledged archive is in the index once, and the object store has the same archives, whole.
    fn audit(&self, acknowledged: &BTreeSet<String>) {
        let listed = |index: &str, directory: &str| {
            let list = self.document(&["lab", "store", "list"], index, directory);
            let rows = list["rows"].as_array().unwrap().clone();
            let of_board = |row: &Value| {
                (row["newest"]["board"].as_str().unwrap().to_owned(), row["coverage"]["runs"].as_u64().unwrap())
            };
            rows.iter().map(of_board).collect::<BTreeMap<_, _>>()
        };
        let before = listed(&self.index, "own");
        assert_eq!(before["remote"], acknowledged.len() as u64, "{before:?}");
        let objects = self.objects.objects();
        let missing: Vec<&String> =
            acknowledged.iter().filter(|digest| !objects.keys().any(|name| name.contains(digest.as_str()))).collect();
        assert!(missing.is_empty(), "the object store lacks {missing:?}");
        // A host that has nothing reads every archive from the object store, and checks its address.
        let again = self.database.database();
        self.document(&["lab", "store", "rebuild"], &again, "empty");
        let rebuilt = listed(&again, "empty");
        assert_eq!(rebuilt["remote"], before["remote"]);
        // A worker that was killed before it acknowledged a run may have left it in the object store.
        assert!(before.iter().all(|(board, runs)| rebuilt[board] >= *runs), "{rebuilt:?} after {before:?}");
    }
}

#[test]
fn servers_workers_database_and_object_store_killed_at_any_time_lose_nothing() {
    require!(Prepared("PostgreSQL's initdb (Debian: postgresql)", postgres::programs().is_some()));
    let lab = Lab::new();
    fs::write(lab.bench.path("x.toml"), PLAN).unwrap();
    let queue = |number: usize| {
        let board = ["a", "b"][number % 2];
        lab.document(&["lab", "queue", "add", "x.toml", "--board", board, "--attempts", "100"], &lab.index, "own");
    };
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let addresses = [free(), free()];
    let index = lab.index.as_str();
    let serve = |number: usize| {
        let (lab, address) = (&lab, &addresses[number]);
        let directory = format!("server{number}");
        fs::create_dir_all(lab.bench.path(&directory)).unwrap();
        let words = move || {
            lab.tardy(&[
                "lab",
                "serve",
                &directory,
                "--store",
                index,
                "--artefacts",
                "s3://lab/tardy",
                "--listen",
                address,
            ])
        };
        Kept::of(words)
    };
    let work = |number: usize| {
        let lab = &lab;
        let directory = format!("worker{number}");
        let words = move || {
            let place = ["--store", index, "--archives", &directory, "--artefacts", "s3://lab/tardy"];
            lab.tardy(
                &[&["lab", "worker", "--board", "a=local", "--board", "b=local", "--lease", "5s"][..], &place].concat(),
            )
        };
        Kept::of(words)
    };
    let programs = [serve(0), serve(1), work(0), work(1)];
    let (goes_on, is_kept, acknowledged) = (AtomicBool::new(true), AtomicBool::new(true), Mutex::default());
    let number = AtomicI64::new(1);
    let servers = addresses.each_ref().map(|address| format!("http://{address}"));
    let mut killed = [0; VICTIMS];
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while is_kept.load(Ordering::Relaxed) {
                programs.iter().for_each(Kept::keep);
                std::thread::sleep(Duration::from_millis(50));
            }
        });
        let uploaders: Vec<_> =
            (0..UPLOADERS).map(|_| scope.spawn(|| lab.uploads(&number, &servers, &goes_on, &acknowledged))).collect();
        let _end = End([&goes_on, &is_kept]);
        let mut state = 5;
        for round in 0..kills() {
            queue(round);
            std::thread::sleep(pause(&mut state, 1500));
            let victim = round % VICTIMS;
            match victim {
                4 => lab.database.crash(),
                5 => lab.objects.crash(pause(&mut state, 200)),
                program => programs[program].kill(),
            }
            killed[victim] += 1;
        }
        goes_on.store(false, Ordering::Relaxed);
        uploaders.into_iter().for_each(|uploader| uploader.join().unwrap());
        let start = Instant::now();
        let of_job = |job: &Value| (job["state"] == "done", job["lease_until_unix_ns"].is_null());
        while !jobs(&addresses[0]).is_some_and(|jobs| {
            assert_eq!(jobs.len(), kills(), "a job for each round");
            jobs.iter().all(|job| of_job(job) == (true, true))
        }) {
            assert!(start.elapsed() < WAIT_MAX, "the jobs do not end: {:?}", jobs(&addresses[0]));
            std::thread::sleep(Duration::from_millis(200));
        }
    });
    programs.iter().for_each(Kept::kill);
    let acknowledged = acknowledged.into_inner().unwrap();
    eprintln!(
        "killed servers {}, workers {}, database {}, object store {} times; acknowledged {} archives",
        killed[0] + killed[1],
        killed[2] + killed[3],
        killed[4],
        killed[5],
        acknowledged.len()
    );
    lab.audit(&acknowledged);
}
