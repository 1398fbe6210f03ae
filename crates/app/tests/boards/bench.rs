//! A host with a board: `tardy` with directories of its own.

use crate::server::Server;
use archive::reader::Run;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
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

/// A run that somebody stops with Ctrl-C, once.
pub fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

/// Waits until it holds.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what}");
        thread::sleep(Duration::from_millis(50));
    }
}

/// Reads what is told until a line with these words.
#[track_caller]
pub fn until_told(child: &mut Child, words: &str) -> String {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("it never told {words:?}"))
}

/// How a command under way ends.
pub fn ends(child: Child) -> Ended {
    Ended::of(child.wait_with_output().unwrap())
}

/// The newest meter that needs no libraries, if it knows this subcommand.
pub fn meter(subcommand: &str) -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let built =
        ["dist/bin/tardy-meter", "target/x86_64-unknown-linux-musl/debug/tardy-meter"].map(|path| root.join(path));
    let named = std::env::var_os("TARDY_METER").map(PathBuf::from);
    let age = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
    let newest = named.or_else(|| built.into_iter().filter(|path| path.is_file()).max_by_key(age))?;
    let help = Command::new(&newest).arg("--help").output().ok()?;
    String::from_utf8_lossy(&help.stdout).contains(&format!(" {subcommand} ")).then_some(newest)
}

impl Bench {
    /// A host with a target `board`; `None` where there can be none, after saying why.
    pub fn new() -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let Some(meter) = meter("spool") else {
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
        self.add_with(name, known, &[]);
    }

    /// The same with further options.
    pub fn add_with(&self, name: &str, known: &str, options: &[&str]) {
        let port = self.server.port.to_string();
        self.add_as(name, &["--ssh", "root@127.0.0.1", "--port", &port], known, options);
    }

    /// The same for a place of labgrid's, which says where the board is.
    pub fn add_place(&self, name: &str, place: &[&str], options: &[&str]) {
        self.add_as(name, place, "known_hosts", options);
    }

    fn add_as(&self, name: &str, what: &[&str], known: &str, options: &[&str]) {
        let known = format!("UserKnownHostsFile={}", self.path(known).display());
        let key = self.path("key").display().to_string();
        let words = ["--identity", &key, "--ssh-option", &known];
        let ended = self.tardy(&[&["target", "add", name, "--force"], what, &words, options].concat());
        assert_eq!(ended.code, 0, "{}", ended.complained);
    }

    /// The file of a target.
    pub fn target_file(&self, name: &str) -> PathBuf {
        self.path(&format!("configuration/tardy/targets/{name}.toml"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `tardy` with these words, not yet started.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(words).current_dir(self.folder.path()).env("TARDY_METER", &self.meter);
        command.env("XDG_CONFIG_HOME", self.path("configuration")).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    /// `tardy-meter` with these words, not yet started.
    pub fn meter(&self, words: &[&str]) -> Command {
        let mut command = Command::new(&self.meter);
        command.args(words);
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
        self.measuring_with(&["-D", duration])
    }

    /// The same with further options.
    pub fn measuring_with(&self, options: &[&str]) -> Child {
        let words = ["run", "--target", "board", "--every-sample", "--trace", "off", "--out", "run"];
        let mut command = self.command(&[&words, options].concat());
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("it never measured", || self.path("run/samples/0.partial").is_file());
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

pub fn ended(mut command: Command) -> Ended {
    Ended::of(command.output().unwrap())
}

impl Ended {
    pub fn of(output: Output) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        Self { code: output.status.code().unwrap(), said: text(&output.stdout), complained: text(&output.stderr) }
    }
}
