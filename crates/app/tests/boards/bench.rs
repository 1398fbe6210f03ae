//! A host with a board: `tardy` with directories of its own.

use crate::server::Server;
use archive::reader::Run;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(60);

/// The host and the board it uses.
pub struct Bench {
    pub server: Server,
    folder: TempDir,
    meter: PathBuf,
}

/// Code, standard output and standard error.
pub struct Ended {
    pub code: i32,
    pub said: String,
    pub complained: String,
}

/// The newest meter that needs no libraries.
fn meter() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built =
        ["dist/bin/tardy-meter", "target/x86_64-unknown-linux-musl/debug/tardy-meter"].map(|path| root.join(path));
    let named = std::env::var_os("TARDY_METER").map(PathBuf::from);
    let age = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
    let newest = named.or_else(|| built.into_iter().filter(|path| path.is_file()).max_by_key(age))?;
    let help = Command::new(&newest).arg("--help").output().ok()?;
    String::from_utf8_lossy(&help.stdout).contains(" spool ").then_some(newest)
}

impl Bench {
    /// A host with a target `board`; `None` where there can be none, after saying why.
    pub fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let Some(meter) = meter() else {
            eprintln!("skipped: needs a static tardy-meter of this version (make build)");
            return None;
        };
        let server = match Server::start(folder.path()) {
            Ok(server) => server,
            Err(why) => {
                eprintln!("skipped: {why}");
                return None;
            }
        };
        let bench = Self { server, folder, meter };
        bench.add("board", "known_hosts");
        Some(bench)
    }

    /// Makes a target of the board, with this file of known hosts.
    pub fn add(&self, name: &str, known: &str) {
        let known = format!("UserKnownHostsFile={}", self.path(known).display());
        let (key, port) = (self.path("key").display().to_string(), self.server.port.to_string());
        let words = ["--ssh", "root@127.0.0.1", "--port", &port, "--identity", &key, "--ssh-option", &known];
        let ended = self.tardy(&[&["target", "add", name], &words[..]].concat());
        assert_eq!(ended.code, 0, "{}", ended.complained);
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(words).current_dir(self.folder.path()).env("TARDY_METER", &self.meter);
        command.env("XDG_CONFIG_HOME", self.path("configuration")).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// `tardy` with these words, to its end.
    pub fn tardy(&self, words: &[&str]) -> Ended {
        ended(self.command(words))
    }

    /// The same on another host: with locks of its own.
    pub fn tardy_elsewhere(&self, words: &[&str]) -> Ended {
        let mut command = self.command(words);
        command.env("XDG_STATE_HOME", self.path("elsewhere"));
        ended(command)
    }

    /// Begins a run into `run` that keeps every sample, and waits until it measures.
    pub fn measuring(&self, duration: &str) -> Child {
        let words = ["run", "--target", "board", "-D", duration, "--every-sample", "--trace", "off", "--out", "run"];
        let mut command = self.command(&words);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !self.path("run/samples/0.partial").is_file() {
            assert!(begun.elapsed() < PATIENCE, "it never measured");
            thread::sleep(Duration::from_millis(50));
        }
        child
    }

    /// The archive of the run: every wake-up that was counted is there as a sample, and nothing is missing.
    pub fn assert_whole(&self) -> Run {
        let run = Run::open(self.path("run")).unwrap();
        assert!(run.gaps.is_empty() && run.losses.is_empty(), "{:?} {:?}", run.gaps, run.losses);
        assert!(!run.threads.is_empty());
        for (number, thread) in &run.threads {
            let bytes = fs::metadata(self.path(&format!("run/samples/{number}.bin"))).unwrap().len();
            assert!(thread.totals.cycles > 0);
            assert_eq!(bytes, thread.totals.cycles * 16, "thread {number}: samples and what was counted");
        }
        assert!(!self.path("run/line.partial").exists());
        run
    }
}

fn ended(mut command: Command) -> Ended {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    Ended { code: output.status.code().unwrap(), said: text(&output.stdout), complained: text(&output.stderr) }
}
