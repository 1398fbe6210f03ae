//! Runs over a console that others write to as well: complete, cut, left behind, refused.

use crate::console::Console;
use crate::host::Host;
use crate::watching::{Running, compiled, list, names_the_hog};
use archive::manifest::RunState;
use archive::reader::Run;
use prerequisites::Prerequisite::{Program, Root, Tracefs};
use prerequisites::met;
use std::fs;
use std::ops::Deref;
use std::process::Command;

/// A host, and a board `bare` behind a console.
struct Desk {
    console: Console,
    host: Host,
}

impl Deref for Desk {
    type Target = Host;

    fn deref(&self) -> &Host {
        &self.host
    }
}

impl Desk {
    /// `None` if this machine cannot provide one.
    fn new(noise_every: usize) -> Option<Self> {
        let host = Host::new("console")?;
        if !met(&[Root, Program("setsid"), Program("stty")]) {
            return None;
        }
        fs::create_dir(host.path("board")).unwrap();
        let desk = Self { console: Console::start(&host.path(""), noise_every), host };
        desk.add("bare", "echo secret");
        Some(desk)
    }

    /// The same with a device as slow as one at 115200 baud, with kernel messages and lost bytes.
    fn at_a_slow_device() -> Option<Self> {
        let desk = Self::new(1500)?;
        let console = Console::start_slow_device(&desk.path(""), 1500, 11_520);
        let desk = Self { console, ..desk };
        let line = desk.path("console.device").display().to_string();
        desk.add_line("bare", &line, "echo secret");
        Some(desk)
    }

    fn add(&self, name: &str, password_command: &str) {
        self.add_line(name, "unix:console.socket", password_command);
    }

    fn add_line(&self, name: &str, line: &str, password_command: &str) {
        let place = self.path("board").display().to_string();
        let words = ["--serial", line, "--password-command", password_command, "--directory", &place];
        let ended = self.tardy(&[&["target", "add", name, "--force"], &words[..]].concat());
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    }

    /// Asserts that tardy left nothing on the board, and that the archive has every counted wake-up.
    fn assert_whole_and_clean(&self) -> Run {
        assert_eq!(fs::read_dir(self.path("board")).unwrap().count(), 0, "nothing is left there");
        let run = self.assert_whole();
        assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
        run
    }
}

#[test]
fn a_run_through_a_console_loses_nothing_to_the_kernels_words_nor_to_a_cut() {
    let Some(desk) = Desk::new(1500) else { return };
    let tardy = desk.measuring_on("bare", "3s");
    desk.console.cut();
    let output = tardy.wait_with_output().unwrap();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complained}");
    assert!(complained.contains("is lost") && complained.contains("is back"), "{complained}");
    let run = desk.assert_whole_and_clean();
    let reported = |words: &str| run.problems.iter().any(|problem| problem.text.contains(words));
    assert!(reported("were sent again") && reported("is back after"), "{:?}", run.problems);
    let said = fs::read_to_string(desk.path("run/console.log")).unwrap();
    assert!(said.contains("[   12.345678] usb 1-1: new high-speed USB device"), "{said}");
    assert!(!said.contains("secret") && !said.contains("stty"), "{said}");
    // The session is logged out.
    let verified = desk.tardy(&["target", "verify", "bare"]);
    assert!(verified.code == Some(0) && verified.stdout.contains("tardy-meter"), "{}", verified.stderr);
}

#[test]
fn a_run_outlives_its_host_and_is_collected_through_the_console() {
    let Some(desk) = Desk::new(4000) else { return };
    let mut tardy = desk.measuring_on("bare", "3s");
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    // The next host finds the output that the dead one left on the line, and skips it.
    let refused = desk.tardy(&["run", "--target", "bare", "-D", "1s", "--out", "second"]);
    assert!(refused.code == Some(3) && refused.stderr.contains("tardy target collect"), "{}", refused.stderr);
    let collected = desk.tardy(&["target", "collect", "run"]);
    assert_eq!(collected.code, Some(0), "{}", collected.stderr);
    let run = desk.assert_whole_and_clean();
    assert!(run.problems.iter().any(|problem| problem.text.contains("fetched later")), "{:?}", run.problems);
}

#[test]
fn a_wrong_password_is_reported_and_a_board_is_checked_through_its_console() {
    let Some(desk) = Desk::new(3000) else { return };
    desk.add("stranger", "echo guess");
    let refused = desk.tardy(&["target", "verify", "stranger"]);
    assert!(refused.code != Some(0) && refused.stderr.contains("refused root"), "{}", refused.stderr);
    desk.console.be_quiet();
    let checked = desk.tardy(&["check", "--target", "bare", "--json"]);
    let found: serde_json::Value =
        serde_json::from_str(&checked.stdout).unwrap_or_else(|_| panic!("{}", checked.stderr));
    assert!(found["ready"].is_boolean(), "{found}");
    assert_eq!(fs::read_dir(desk.path("board")).unwrap().count(), 0, "nothing is left there");
}

#[test]
fn a_slow_device_behind_a_network_port_is_had_alone_and_loses_nothing() {
    let Some(desk) = Desk::at_a_slow_device() else { return };
    let device = desk.path("console.device");
    let reader = fs::File::open(&device).unwrap();
    let mut reader = Command::new("sleep").arg("1000").stdin(reader).spawn().unwrap();
    let refused = desk.tardy(&["target", "verify", "bare"]);
    reader.kill().unwrap();
    reader.wait().unwrap();
    assert!(refused.code == Some(3) && refused.stderr.contains("(sleep)"), "{}", refused.stderr);
    let before = Command::new("stty").arg("-g").stdin(fs::File::open(&device).unwrap()).output().unwrap().stdout;
    let ended =
        desk.tardy(&["run", "--target", "bare", "-D", "1s", "--every-sample", "--trace", "off", "--out", "run"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let run = desk.assert_whole_and_clean();
    assert!(run.problems.iter().any(|problem| problem.code == "machine.console-damaged"), "{:?}", run.problems);
    let after = Command::new("stty").arg("-g").stdin(fs::File::open(&device).unwrap()).output().unwrap().stdout;
    assert_eq!(after, before, "the device is as it was");
}

#[test]
fn a_program_is_watched_and_audited_through_a_console_as_over_ssh() {
    let Some(desk) = Desk::new(4000).filter(|_| met(&[Tracefs, Program("cc")])) else { return };
    let (periods, hog) = (compiled(&desk.path(""), "periods"), compiled(&desk.path(""), "hog"));
    let mut running = Running(Vec::new());
    let cpus = std::thread::available_parallelism().unwrap().get();
    for cpu in 0..cpus {
        running.start(&hog, &[&cpu.to_string(), "4000", "200000"]);
    }
    let loop_of_6_s = [periods.to_str().unwrap(), "-1", "3000"];
    let watch = [
        "watch",
        "--target",
        "bare",
        "--beside-others",
        "--every-sample",
        "--limit",
        "1ms",
        "--json",
        "--out",
        "run",
        "--",
    ];
    let ended = desk.tardy(&[&watch[..], &loop_of_6_s].concat());
    assert_eq!(ended.code, Some(124), "{}", ended.stderr);
    let summary = ended.json();
    assert!(list(&summary["spikes"]).iter().any(names_the_hog), "{}", ended.stdout);
    let run = desk.assert_whole_and_clean();
    assert!(run.watched.values().any(|series| series.name == "periods"), "{:?}", run.watched);
    let audit = ["audit", "--target", "bare", "--duration", "2s", "--json", "--out", "audit", "--"];
    let audited = desk.tardy(&[&audit[..], &loop_of_6_s].concat());
    assert!(matches!(audited.code, Some(0 | 1)), "{:?} {}", audited.code, audited.stderr);
    assert!(list(&audited.json()["threads"]).iter().any(|thread| thread["name"] == "periods"), "{}", audited.stdout);
    assert_eq!(fs::read_dir(desk.path("board")).unwrap().count(), 0, "nothing is left there");
}
