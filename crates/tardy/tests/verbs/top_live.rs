//! `tardy top` with the real meter on this machine, on a pseudo-terminal, and a program with planted misses.

use fixtures::programs::{KnownMeter, real_meter};
use fixtures::pseudo_terminal::{Terminal, resize};
use fixtures::waiting::wait_until;
use prerequisites::Prerequisite::{Program, Root, Tracefs};
use prerequisites::met;
use rustix::process::{Pid, Signal, kill_process};
use rustix::termios::{LocalModes, tcgetattr};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Leaves the other screen and shows the cursor.
const RESTORED: &str = "\x1b[0m\x1b[?25h\x1b[?1049l";

/// A folder, a meter whose instances are known, and the program with planted misses.
struct Planted {
    folder: TempDir,
    meter: KnownMeter,
    program: Child,
}

impl Planted {
    /// `None` where this machine cannot watch.
    fn start() -> Option<Self> {
        let meter = real_meter().filter(|_| met(&[Root, Tracefs, Program("cc")]))?;
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/planted.c");
        let path = folder.path().join("planted");
        let compiled = Command::new("cc").args(["-O1", "-pthread", "-static", "-o"]).arg(&path).arg(source).status();
        assert!(compiled.unwrap().success());
        let kinds = ["hog"; 60];
        let program = Command::new(&path).args(["0", "1500"]).args(kinds).stdout(Stdio::null()).spawn().unwrap();
        fs::create_dir(folder.path().join("temporary")).unwrap();
        let meter = KnownMeter::of(&meter, folder.path());
        Some(Self { folder, meter, program })
    }

    fn top(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.arg("top").args(words).current_dir(self.folder.path());
        command.env("TARDY_METER", self.meter.path()).env("TARDY_STATE_DIR", self.folder.path().join("state"));
        command.env("TMPDIR", self.folder.path().join("temporary"));
        command.env("TERM", "xterm").env("LANG", "C.UTF-8").env_remove("LC_ALL").env("NO_COLOR", "1");
        command
    }

    /// Nothing is left in the kernel and on the disk.
    fn assert_nothing_left(&self) {
        assert_eq!(self.meter.instances(), Vec::<String>::new());
        assert_eq!(fs::read_dir(self.folder.path().join("temporary")).unwrap().count(), 0);
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The rows on a screen that these bytes were written to.
fn screen(shown: &str) -> Vec<String> {
    let mut rows = vec![vec![' '; 300]; 60];
    let (mut x, mut y) = (0, 0);
    let mut letters = shown.chars();
    while let Some(letter) = letters.next() {
        if letter != '\x1b' {
            if let Some(cell) = rows.get_mut(y).and_then(|row| row.get_mut(x)) {
                *cell = letter;
            }
            x += 1;
            continue;
        }
        let mut text = String::new();
        while !text.ends_with(|letter: char| letter.is_ascii_alphabetic()) {
            let Some(letter) = letters.next() else { break };
            text.push(letter);
        }
        let text = text.trim_start_matches('[');
        if let Some(place) = text.strip_suffix('H') {
            let numbers: Vec<usize> = place.split(';').filter_map(|number| number.parse().ok()).collect();
            (y, x) = (numbers[0] - 1, numbers[1] - 1);
        } else if text == "2J" {
            rows.iter_mut().flatten().for_each(|cell| *cell = ' ');
        }
    }
    rows.iter().map(|row| row.iter().collect::<String>().trim_end().to_owned()).collect()
}

fn press(terminal: &Terminal, keys: &str) {
    rustix::io::write(&terminal.keyboard, keys.as_bytes()).unwrap();
}

fn is_raw(terminal: &Terminal) -> bool {
    !tcgetattr(&terminal.keyboard).unwrap().local_modes.contains(LocalModes::ICANON)
}

/// Waits until the screen fulfils a condition.
fn wait_for(terminal: &Terminal, what: &str, holds: impl Fn(&[String]) -> bool) {
    let begun = std::time::Instant::now();
    wait_until(what, || {
        let rows = screen(&terminal.shown());
        let is_late = begun.elapsed().as_secs() > 115;
        assert!(!is_late, "{what}:\n{}", rows.join("\n").trim_end());
        holds(&rows)
    });
}

fn has(rows: &[String], parts: &[&str]) -> bool {
    rows.iter().any(|row| parts.iter().all(|part| row.contains(part)))
}

/// Whether a row of a wide table accounts for the worst wake-up of the planted thread. On a busy machine its cause may be another one.
fn accounts(row: &str) -> bool {
    const CAUSE: usize = 80;
    let cause: String = row.chars().skip(CAUSE).collect();
    let waits = ["being explained", "not traced"].iter().any(|phrase| row.contains(phrase));
    ["planted ", "fifo 50", " ms"].iter().all(|part| row.contains(part)) && !cause.trim().is_empty() && !waits
}

#[test]
fn a_table_shows_a_thread_with_its_cause_and_leaves_nothing() {
    let Some(planted) = Planted::start() else { return };
    let terminal = Terminal::start(planted.top(&["--comm", "planted", "--limit", "2ms", "--budget", "100"]), 160);
    wait_for(&terminal, "the thread and its cause", |rows| rows.iter().any(|row| accounts(row)));
    assert!(is_raw(&terminal));
    press(&terminal, "s");
    wait_for(&terminal, "another order", |rows| has(rows, &["by name"]));
    press(&terminal, "ss");
    wait_for(&terminal, "and another", |rows| has(rows, &["by p99"]));
    press(&terminal, "s");
    wait_for(&terminal, "the worst first", |rows| has(rows, &["> planted "]));
    wait_for(&terminal, "the cost", |rows| has(rows, &["watching costs"]));
    press(&terminal, "\r");
    wait_for(&terminal, "the account", |rows| has(rows, &["Spike "]) && has(rows, &["Enter back"]));
    resize(&terminal.keyboard, 80);
    press(&terminal, "\x1b");
    wait_for(&terminal, "the table in a small terminal", |rows| {
        has(rows, &["> planted "]) && has(rows, &["s sort"]) && rows.iter().all(|row| row.chars().count() <= 80)
    });
    press(&terminal, "q");
    let keyboard = terminal.keyboard.try_clone().unwrap();
    let (code, shown) = terminal.end();
    let after = &shown[shown.rfind(RESTORED).expect("the terminal is restored")..];
    assert!(after.contains(" over 2.00 ms") && after.contains("watching costs"), "{after:?}");
    assert_eq!(code, Some(0), "{after}");
    assert!(tcgetattr(&keyboard).unwrap().local_modes.contains(LocalModes::ICANON | LocalModes::ECHO));
    planted.assert_nothing_left();
}

#[test]
fn a_signal_restores_the_terminal() {
    for signal in [Signal::TERM, Signal::HUP] {
        let Some(planted) = Planted::start() else { return };
        let terminal = Terminal::start(planted.top(&[]), 80);
        wait_for(&terminal, "every real-time thread", |rows| has(rows, &["planted ", "fifo 50"]));
        kill_process(Pid::from_child(&terminal.program), signal).unwrap();
        let (code, shown) = terminal.end();
        assert!(shown.contains(RESTORED), "{signal:?}: {shown:?}");
        assert_eq!(code, Some(0), "{signal:?}: {}", &shown[shown.rfind(RESTORED).unwrap()..]);
        planted.assert_nothing_left();
    }
}

#[test]
fn one_table_needs_no_terminal() {
    let Some(planted) = Planted::start() else { return };
    let once = ["--comm", "planted", "--limit", "2ms", "--once", "8s", "--directory", "kept"];
    let output = planted.top(&once).stdin(Stdio::null()).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().find(|line| line.starts_with("planted "));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(row.is_some_and(accounts), "{text}{said}");
    assert!(!text.contains('\x1b'), "{text}");
    assert_eq!(output.status.code(), Some(1), "over the limit: {text}{said}");
    assert_eq!(fs::read_dir(planted.folder.path().join("kept")).unwrap().count(), 1);
    planted.assert_nothing_left();
}

#[test]
fn top_without_a_terminal_names_other_verbs() {
    let output = Command::new(env!("CARGO_BIN_EXE_tardy")).arg("top").stdin(Stdio::null()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    for named in ["--once", "tardy watch", "tardy guard"] {
        assert!(said.split_whitespace().collect::<Vec<_>>().join(" ").contains(named), "{said}");
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
}
