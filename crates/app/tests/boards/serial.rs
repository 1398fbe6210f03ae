//! Runs over a console on which others speak, too: whole, cut, left behind, refused.

use crate::bench::{Ended, ended, meter};
use crate::console::{Console, is_possible};
use archive::manifest::RunState;
use archive::reader::Run;
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const PATIENCE: Duration = Duration::from_secs(120);

/// A host, and a board `bare` behind a console.
struct Desk {
    console: Console,
    folder: TempDir,
    meter: PathBuf,
}

impl Desk {
    /// `None` where there can be none, after saying why.
    fn new(noise_every: usize) -> Option<Self> {
        let Some(meter) = meter("console") else {
            eprintln!("skipped: needs a static tardy-meter of this version (make build)");
            return None;
        };
        if !is_possible() || !rustix::process::geteuid().is_root() {
            eprintln!("skipped: needs root, and setsid of util-linux");
            return None;
        }
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("board")).unwrap();
        let console = Console::start(folder.path(), noise_every);
        let desk = Self { console, folder, meter };
        desk.add("bare", "echo secret");
        Some(desk)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn add(&self, name: &str, password_command: &str) {
        let place = self.path("board").display().to_string();
        let words = ["--serial", "unix:console.socket", "--password-command", password_command, "--directory", &place];
        let ended = self.tardy(&[&["target", "add", name], &words[..]].concat());
        assert_eq!(ended.code, 0, "{}", ended.complained);
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(words).current_dir(self.folder.path()).env("TARDY_METER", &self.meter);
        command.env("XDG_CONFIG_HOME", self.path("configuration")).env("XDG_STATE_HOME", self.path("state"));
        command
    }

    fn tardy(&self, words: &[&str]) -> Ended {
        ended(self.command(words))
    }

    /// Begins a run and waits until its first samples are here.
    fn measuring(&self, duration: &str) -> Child {
        let words = ["run", "--target", "bare", "-D", duration, "--every-sample", "--trace", "off", "--out", "run"];
        let child = self.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let begun = Instant::now();
        while !self.path("run/samples/0.partial").is_file() {
            assert!(begun.elapsed() < PATIENCE, "it never measured");
            thread::sleep(Duration::from_millis(50));
        }
        child
    }

    /// Nothing of ours is on the board, and the archive has every wake-up that was counted.
    fn assert_whole_and_clean(&self) -> Run {
        assert_eq!(fs::read_dir(self.path("board")).unwrap().count(), 0, "nothing is left there");
        let run = Run::open(self.path("run")).unwrap();
        assert!(run.gaps.is_empty() && run.losses.is_empty(), "{:?} {:?}", run.gaps, run.losses);
        assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
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

#[test]
fn a_run_through_a_console_loses_nothing_to_the_kernels_words_nor_to_a_cut() {
    let Some(desk) = Desk::new(1500) else { return };
    let tardy = desk.measuring("3s");
    desk.console.cut();
    let output = tardy.wait_with_output().unwrap();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complained}");
    assert!(complained.contains("is lost") && complained.contains("is back"), "{complained}");
    let run = desk.assert_whole_and_clean();
    let told = |words: &str| run.problems.iter().any(|problem| problem.text.contains(words));
    assert!(told("were sent again") && told("is back after"), "{:?}", run.problems);
    let said = fs::read_to_string(desk.path("run/console.log")).unwrap();
    assert!(said.contains("[   12.345678] usb 1-1: new high-speed USB device"), "{said}");
    assert!(!said.contains("secret") && !said.contains("stty"), "{said}");
    // Whoever logged in has logged out.
    let verified = desk.tardy(&["target", "verify", "bare"]);
    assert!(verified.code == 0 && verified.said.contains("tardy-meter"), "{}", verified.complained);
}

#[test]
fn a_run_outlives_its_host_and_is_collected_through_the_console() {
    let Some(desk) = Desk::new(4000) else { return };
    let mut tardy = desk.measuring("3s");
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    // The next host finds what the dead one left on the line, and gets past it.
    let refused = desk.tardy(&["run", "--target", "bare", "-D", "1s", "--out", "second"]);
    assert!(refused.code == 3 && refused.complained.contains("tardy collect"), "{}", refused.complained);
    let collected = desk.tardy(&["collect", "run"]);
    assert_eq!(collected.code, 0, "{}", collected.complained);
    let run = desk.assert_whole_and_clean();
    assert!(run.problems.iter().any(|problem| problem.text.contains("fetched later")), "{:?}", run.problems);
}

#[test]
fn a_wrong_password_is_told_and_a_board_is_checked_through_its_console() {
    let Some(desk) = Desk::new(3000) else { return };
    desk.add("stranger", "echo guess");
    let refused = desk.tardy(&["target", "verify", "stranger"]);
    assert!(refused.code != 0 && refused.complained.contains("refuses root"), "{}", refused.complained);
    desk.console.be_quiet();
    let checked = desk.tardy(&["check", "--target", "bare", "--json"]);
    let found: serde_json::Value =
        serde_json::from_str(&checked.said).unwrap_or_else(|_| panic!("{}", checked.complained));
    assert!(found["ready"].is_boolean(), "{found}");
    assert_eq!(fs::read_dir(desk.path("board")).unwrap().count(), 0, "nothing is left there");
}
