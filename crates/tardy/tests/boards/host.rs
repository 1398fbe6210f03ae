//! The host: `tardy` with its own directories, and the archives of its runs.

use archive::message::LossKind;
use archive::reader::Run;
use fixtures::ended::Ended;
use fixtures::programs;
use fixtures::repository::repository_path;
use prerequisites::Prerequisite::Prepared;
use prerequisites::met;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The slowest line needs this long until samples arrive, while other tests run.
const PATIENCE: Duration = Duration::from_secs(120);

/// Working directory of `tardy`, and the meter it sends to boards.
pub struct Host {
    folder: TempDir,
    meter: PathBuf,
}

/// The newest statically linked meter, if it has this subcommand.
fn meter(subcommand: &str) -> Option<PathBuf> {
    let built = ["dist/bin/tardy-meter", "target/x86_64-unknown-linux-musl/debug/tardy-meter"].map(repository_path);
    let named = std::env::var_os("TARDY_METER").map(PathBuf::from);
    let age = |path: &PathBuf| fs::metadata(path).and_then(|found| found.modified()).ok();
    let newest = named.or_else(|| built.into_iter().filter(|path| path.is_file()).max_by_key(age))?;
    let help = Command::new(&newest).arg("--help").output().ok()?;
    String::from_utf8_lossy(&help.stdout).contains(&format!(" {subcommand} ")).then_some(newest)
}

/// Stops a run with one Ctrl-C.
pub fn interrupt(child: &Child) {
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
}

/// Reads the messages up to a line with these words.
#[track_caller]
pub fn until_shown(child: &mut Child, words: &str) -> String {
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("it never showed {words:?}"))
}

/// Waits for a running command to end.
pub fn ends(child: Child) -> Ended {
    Ended::of(child.wait_with_output().unwrap())
}

impl Host {
    /// A host without targets, whose meter has this subcommand; `None` if there is none.
    pub fn new(subcommand: &str) -> Option<Self> {
        let meter = meter(subcommand);
        let is_built = Prepared("a static tardy-meter of this version (make build)", meter.is_some());
        met(&[is_built]).then_some(Self { folder: tempfile::tempdir().unwrap(), meter: meter? })
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// `tardy` with these words, not yet started.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(programs::tardy());
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
        Ended::of(self.command(words).output().unwrap())
    }

    /// The same as a second host: with separate locks.
    pub fn tardy_elsewhere(&self, words: &[&str]) -> Ended {
        let mut command = self.command(words);
        command.env("XDG_STATE_HOME", self.path("elsewhere"));
        Ended::of(command.output().unwrap())
    }

    /// Begins a run into `run` on this target that keeps every sample, and waits until the first ones have arrived.
    #[track_caller]
    pub fn measuring_on(&self, target: &str, duration: &str) -> Child {
        let words = ["run", "--target", target, "-D", duration, "--every-sample", "--trace", "off", "--out", "run"];
        let mut child = self.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !self.path("run/samples/0.partial").is_file() {
            if child.try_wait().unwrap().is_some() {
                panic!("it ended before anybody saw it measure: {}", ends(child).stderr);
            }
            assert!(begun.elapsed() < PATIENCE, "it never measured");
            thread::sleep(Duration::from_millis(50));
        }
        child
    }

    /// The archive of the run: every counted wake-up has its sample, and nothing is missing.
    #[track_caller]
    pub fn assert_whole(&self) -> Run {
        let run = Run::open(self.path("run")).unwrap();
        // A watch lacks wake-ups that the kernel did not record in full; the line did not lose them.
        let lost: Vec<_> = run.losses.iter().filter(|loss| loss.kind != LossKind::WakeUps).collect();
        assert!(run.gaps.is_empty() && lost.is_empty(), "{:?} {lost:?}", run.gaps);
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
