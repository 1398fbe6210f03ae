//! `tardy watch` for weeks, in some seconds: the worst of each stretch, the last seconds on request, and the part of a run.

use crate::watch_live::{Foreign, meter, program, tardy_watch};
use archive::reader::Run;
use archive::spike::{REASON_LETTERS_MAX, RequestSource, Spike, SpikeReason};
use fixtures::programs::KnownMeter;
use fixtures::pseudo_terminal::Terminal;
use fixtures::waiting::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A periodic loop with planted late wake-ups, `pause_ms` apart.
fn planted(folder: &TempDir, pause_ms: u32, hogs: usize) -> Foreign {
    let mut command = Command::new(program(folder, "planted"));
    command.args(["0", &pause_ms.to_string()]).args(vec!["hog"; hogs]).stdout(Stdio::null());
    Foreign(command.spawn().unwrap())
}

fn explained(folder: &TempDir, words: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    let output = command.arg("explain").args(words).current_dir(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_stretch_keeps_its_worst_beside_the_largest_of_the_run() {
    const STRETCH_NS: i64 = 3_000_000_000;
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let pid = planted(&folder, 1500, 20);
    let process = pid.0.id().to_string();
    let words = ["--pid", &process, "--limit", "2ms", "--worst-of-each", "3s", "--snapshots", "1", "--duration", "12s"];
    let ended = tardy_watch(&meter, &folder, &[&words[..], &["--out", "run"]].concat()).output().unwrap();
    assert!(ended.status.code().is_some_and(|code| code <= 1), "{}", String::from_utf8_lossy(&ended.stderr));
    let run = Run::open(folder.path().join("run")).unwrap();
    let offset_ns = run.realtime_offset_ns.unwrap();
    let is_kept = |spike: &&Spike| spike.snapshot.is_some() && spike.reason != SpikeReason::Control;
    let hog = |spike: &&Spike| is_kept(spike) && spike.sample.latency_ns > 2_000_000;
    let stretch = |spike: &Spike| (spike.sample.seen_ns() + offset_ns).div_euclid(STRETCH_NS);
    let stretches: BTreeSet<i64> = run.spikes.iter().filter(hog).map(stretch).collect();
    assert!(stretches.len() >= 4, "{stretches:?}");
    // One of the run, and two of each sort in each stretch.
    assert!(run.spikes.iter().filter(is_kept).count() <= 1 + 3 * 2 * 5, "{}", run.spikes.len());
    let part = explained(&folder, &["run", "--since", "5s"]);
    let whole = explained(&folder, &["run", "--since", "2001-01-01"]);
    let over = |text: &str| text.split(' ').next().and_then(|count| count.parse::<u64>().ok());
    assert!(over(&part).zip(over(&whole)).is_some_and(|(part, whole)| 0 < part && part < whole), "{part}{whole}");
    assert!(part.lines().count() <= 12 && whole.contains("other-rt-task"), "{whole}");
    let below = explained(&folder, &[".", "--since", "5s"]);
    assert_eq!(below.lines().next(), part.lines().next());
    let none = Command::new(env!("CARGO_BIN_EXE_tardy"))
        .args(["explain", "run", "--until", "2001-01-01"])
        .current_dir(folder.path())
        .status();
    assert_eq!(none.unwrap().code(), Some(2), "the run was later");
}

/// Writes to the marker of the machine; where the kernel copies it to no other instance, to that of the meter.
fn mark(meter: &KnownMeter, text: &str) {
    let tracing = Path::new("/sys/kernel/tracing");
    // The write fails where the machine's own trace is off, and yet reaches the copies.
    let _ = fs::write(tracing.join("trace_marker"), text);
    if !tracing.join("options/copy_trace_marker").exists() {
        let own = meter.instances().into_iter().find(|name| name.ends_with("-marks"));
        let _ = own.map(|name| fs::write(tracing.join("instances").join(name).join("trace_marker"), text));
    }
}

fn requested(run: &Run, by: RequestSource) -> Option<&Spike> {
    run.spikes.iter().find(|spike| spike.request.as_ref().is_some_and(|request| request.by == by))
}

#[test]
fn the_last_seconds_are_kept_on_a_signal_and_for_a_program() {
    let Some(path) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let meter = KnownMeter::of(&path, folder.path());
    let program = planted(&folder, 600_000, 1);
    let log = folder.path().join("log");
    let mut watch = tardy_watch(meter.path(), &folder, &["--pid", &program.0.id().to_string(), "--out", "run"]);
    watch.stdout(Stdio::null()).stderr(File::create(&log).unwrap());
    let mut watch = Foreign(watch.spawn().unwrap());
    let said = |text: &str| fs::read_to_string(&log).is_ok_and(|log| log.contains(text));
    let evil = format!("tardy: save <script>evil()</script>\x1b[2J {}", "long ".repeat(200));
    wait_until("a program is heard", || {
        // Requests before the watch measures are not heard.
        mark(&meter, &evil);
        std::thread::sleep(std::time::Duration::from_millis(300));
        said("by a program")
    });
    assert!(!fs::read_to_string(&log).unwrap().contains('\x1b'), "the reason is text");
    let signal = |signal| kill_process(Pid::from_child(&watch.0), signal).unwrap();
    signal(Signal::USR1);
    wait_until("a signal is heard", || said("by a signal"));
    signal(Signal::INT);
    watch.0.wait().unwrap();
    let run = Run::open(folder.path().join("run")).unwrap();
    let by_program = requested(&run, RequestSource::Program).expect("a spike that a program asked for");
    let reason = &by_program.request.as_ref().unwrap().reason;
    assert!(reason.starts_with("<script>evil()</script> [2J long") && reason.chars().count() <= REASON_LETTERS_MAX);
    let by_signal = requested(&run, RequestSource::Signal).expect("a spike that a signal asked for");
    for spike in [by_program, by_signal] {
        assert!(spike.requested && spike.snapshot.is_some(), "{spike:?}");
        let account = explained(&folder, &["run", "--spike", &spike.number.to_string()]);
        assert!(account.contains(if spike == by_signal { "by a signal" } else { "by a program" }), "{account}");
    }
    let mut report = Command::new(env!("CARGO_BIN_EXE_tardy"));
    assert!(report.args(["report", "run"]).current_dir(folder.path()).output().unwrap().status.success());
    let page = fs::read_to_string(folder.path().join("run/report.html")).unwrap();
    assert!(!page.contains("<script>evil"), "the page escapes text of a target");
    assert!(page.contains("&lt;script&gt;evil"), "the page shows who asked and why");
    assert_eq!(meter.instances(), [""; 0]);
}

#[test]
fn a_line_at_the_terminal_keeps_the_last_seconds() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = planted(&folder, 600_000, 1);
    let words = ["--pid", &program.0.id().to_string(), "--out", "run"];
    let mut command = Command::new("setsid");
    let watch = tardy_watch(&meter, &folder, &words);
    command.args(["--ctty", "--wait"]).arg(watch.get_program()).args(watch.get_args()).current_dir(folder.path());
    command.envs(watch.get_envs().filter_map(|(name, value)| Some((name, value?)))).env("TERM", "xterm");
    let terminal = Terminal::start(command, 100);
    terminal.wait_for("measure ");
    rustix::io::write(&terminal.keyboard, b"the arm shook\n").unwrap();
    terminal.wait_for("kept the last seconds as spike");
    // Ctrl-C, as the terminal sends it to those in its foreground.
    rustix::io::write(&terminal.keyboard, b"\x03").unwrap();
    let (_, shown) = terminal.end();
    let run = Run::open(folder.path().join("run")).unwrap();
    let spike = requested(&run, RequestSource::Key).unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(spike.request.as_ref().unwrap().reason, "the arm shook");
}
