//! `tardy watch` and `tardy audit` of programs on a board, with a hog planted beside them.

use crate::bench::Bench;
use crate::host::ends;
use archive::manifest::RunState;
use fixtures::waiting::wait_until;
use prerequisites::Prerequisite::{Program, Tracefs};
use prerequisites::met;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// A program of `tests/programs`, compiled into the board.
fn program(bench: &Bench, name: &str) -> PathBuf {
    compiled(&bench.path("board/bin"), name)
}

/// A program of `tests/programs`, compiled into this folder.
pub fn compiled(folder: &Path, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c");
    let binary = folder.join(name);
    let compiled = Command::new("cc").args(["-O1", "-pthread", "-static", "-o"]).arg(&binary).arg(source).status();
    assert!(compiled.unwrap().success());
    binary
}

/// Programs that run on the board already; they end with the test.
pub struct Running(pub Vec<Child>);

impl Running {
    pub fn start(&mut self, program: &Path, words: &[&str]) -> u32 {
        let child = Command::new(program).args(words).stdout(Stdio::null()).spawn().unwrap();
        self.0.push(child);
        self.0[self.0.len() - 1].id()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        for child in &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A board with a real-time loop and a hog that takes its CPU for 4 ms, five times a second.
fn disturbed() -> Option<(Bench, Running, u32)> {
    let bench = Bench::new().filter(|_| met(&[Tracefs, Program("cc")]))?;
    let mut running = Running(Vec::new());
    let log = bench.path("board/tmp/served.log").display().to_string();
    let pid = running.start(&program(&bench, "served"), &[&log, "10000000"]);
    running.start(&program(&bench, "hog"), &["0", "4000", "200000"]);
    Some((bench, running, pid))
}

/// Files of the board, without the log of its program, which grows.
fn files(bench: &Bench) -> Vec<String> {
    let mut files = bench.server.listing();
    files.retain(|file| !file.contains("/served.log "));
    files
}

pub fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether an explanation names the hog.
pub fn names_the_hog(spike: &Value) -> bool {
    let named = |finding: &Value| finding["culprit"] == "other-rt-task" && finding["confidence"] != "hint";
    let owned = |phase: &Value| list(&phase["owners"]).iter().any(|owner| owner["name"].as_str().is_some_and(is_hog));
    list(&spike["explanation"]["findings"]).iter().any(named) && list(&spike["explanation"]["phases"]).iter().any(owned)
}

fn is_hog(name: &str) -> bool {
    name.starts_with("hog-")
}

#[test]
fn a_hog_on_a_board_is_named_beside_the_lines_of_the_log() {
    let Some((bench, _running, _)) = disturbed() else { return };
    wait_until("the program never started", || bench.path("board/tmp/served.log").is_file());
    let before = files(&bench);
    let watch =
        ["watch", "--target", "board", "--comm", "served", "--duration", "3s", "--limit", "1ms", "--beside-others"];
    let log = ["--count", "LATE", "--log", "/tmp/served.log", "--json", "--out", "run"];
    let ended = bench.tardy(&[&watch[..], &log].concat());
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let summary = ended.json();
    assert!(list(&summary["spikes"]).iter().any(names_the_hog), "{}", ended.stdout);
    let counted = &summary["counted"][0];
    assert!(counted["count"].as_u64().is_some_and(|lines| lines > 0), "{counted}");
    let lines = list(&counted["lines"]);
    assert!(lines.iter().all(|line| line["at_ns"].is_i64() && line["uncertain_ns"].is_u64()), "{counted}");
    assert!(lines.iter().any(|line| line["beside"]["name"] == "served"), "{counted}");
    assert_eq!(files(&bench), before);
}

/// Attempts, because the machine has other work.
const ATTEMPTS: usize = 3;

/// Whether a watch of a command on the board names this cause of a late cycle or wake-up of the thread, above a hint.
fn is_named(bench: &Bench, limit: [&str; 2], command: &[&str], thread: &str, culprit: &str) {
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        let out = format!("{culprit}-{attempt}");
        let watch =
            ["watch", "--target", "board", "--beside-others", "--json", limit[0], limit[1], "--out", &out, "--"];
        let ended = bench.tardy(&[&watch[..], command].concat());
        let summary = ended.json();
        assert_eq!((&summary["state"], &summary["valid"]), (&"complete".into(), &true.into()), "{}", ended.stderr);
        let of_thread = |number: &Value| {
            list(&summary["cpus"]).iter().any(|cpu| cpu["thread"] == *number && cpu["watched"]["name"] == thread)
        };
        let named = |finding: &Value| finding["culprit"] == culprit && finding["confidence"] != "hint";
        let mut spikes = list(&summary["spikes"]).iter().filter(|spike| of_thread(&spike["thread"]));
        if spikes.any(|spike| list(&spike["explanation"]["findings"]).iter().any(named)) {
            return;
        }
        last = summary["spikes"][0]["explanation"].to_string();
    }
    panic!("{culprit} of {thread} was not named in {ATTEMPTS} attempts; the last one: {last}");
}

#[test]
fn causes_in_an_audio_loop_are_named_on_a_board_as_they_are_here() {
    let Some(bench) = Bench::new().filter(|_| met(&[Tracefs, Program("cc")])) else { return };
    program(&bench, "inversion");
    program(&bench, "fault");
    program(&bench, "periods");
    let before = files(&bench);
    is_named(&bench, ["--cycle-limit", "3ms"], &["/bin/inversion", "60"], "arm-high", "priority-inversion");
    is_named(&bench, ["--cycle-limit", "600us"], &["/bin/fault", "400"], "fault", "page-fault");
    assert_eq!(files(&bench), before);
    let mut running = Running(Vec::new());
    let hog = program(&bench, "hog");
    let cpus = std::thread::available_parallelism().unwrap().get();
    for cpu in 0..cpus {
        running.start(&hog, &[&cpu.to_string(), "4000", "200000"]);
    }
    let before = files(&bench);
    is_named(&bench, ["--limit", "1ms"], &["/bin/periods", "-1", "3000"], "periods", "other-rt-task");
    assert_eq!(files(&bench), before);
}

#[test]
fn a_watch_whose_line_is_cut_loses_nothing_and_ends_the_command_on_the_board() {
    let Some((bench, _running, _)) = disturbed() else { return };
    let before = files(&bench);
    let words = ["watch", "--target", "board", "--duration", "4s", "--every-sample", "--beside-others", "--out", "run"];
    let command = ["--", "/bin/served", "/tmp/served.log", "10000000"];
    let watch = bench.command(&[&words[..], &command].concat()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let begun = bench.path("run/samples");
    wait_until("it never measured", || fs::read_dir(&begun).is_ok_and(|mut files| files.next().is_some()));
    bench.server.cut();
    let ended = ends(watch.unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("is back"), "{}", ended.stderr);
    let run = bench.assert_whole();
    assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
    assert!(run.watched.values().any(|series| series.name == "served"), "{:?}", run.watched);
    assert_eq!(files(&bench), before);
}

#[test]
fn a_program_that_runs_on_a_board_is_audited_there() {
    let Some((bench, _running, pid)) = disturbed() else { return };
    let before = files(&bench);
    let audit = ["audit", "--target", "board", "--duration", "2s", "--json", "--out", "run"];
    let ended = bench.tardy(&[&audit[..], &["--pid", &pid.to_string()]].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report = ended.json();
    let is_habit = |found: &Value| found["rule"] == "blocking-io";
    assert!(list(&report["findings"]).iter().any(is_habit), "{}", ended.stdout);
    assert_eq!(files(&bench), before);
}

#[test]
fn a_program_that_is_not_on_the_board_is_refused_with_what_lists_them() {
    let Some(bench) = Bench::new().filter(|_| met(&[Tracefs])) else { return };
    for (whom, said) in [
        (["--unit", "no-such-unit"], "no process runs in the unit no-such-unit"),
        (["--comm", "no-such-thread"], "no thread is called no-such-thread"),
    ] {
        let watch = ["watch", "--target", "board", "--duration", "1s", "--beside-others", "--out", whom[1]];
        let refused = bench.tardy(&[&watch[..], &whom].concat());
        assert!(refused.code == Some(2) && refused.stderr.contains(said), "{:?} {}", refused.code, refused.stderr);
    }
}

#[test]
fn a_slow_function_on_a_board_is_named_by_the_program_that_only_the_board_has() {
    let Some(bench) = Bench::new().filter(|_| met(&[Tracefs, Program("cc")])) else { return };
    program(&bench, "late_functions");
    let before = files(&bench);
    let mut last = Value::Null;
    for attempt in 0..ATTEMPTS {
        let out = format!("run-{attempt}");
        let watch =
            ["watch", "--target", "board", "--beside-others", "--all-threads", "--stacks", "--cycle-limit", "2ms"];
        let program = ["--json", "--out", &out, "--", "/bin/late_functions", "5", "6", "/dev/null"];
        let ended = bench.tardy(&[&watch[..], &program].concat());
        let summary = ended.json();
        assert_eq!(summary["state"], "complete", "{}", ended.stderr);
        let code = |spike: &Value| spike["explanation"]["own_code"]["slow"].clone();
        let slow: Vec<Value> = list(&summary["spikes"]).iter().map(code).collect();
        let is_planted = |slow: &&Value| slow.to_string().contains("\"slow_");
        let programs = fs::read_dir(bench.path(&out).join("programs")).unwrap().count();
        assert_eq!(programs, 1, "the program is static");
        assert_eq!(files(&bench), before);
        if slow.iter().filter(is_planted).count() >= 3 {
            return;
        }
        last = slow.into();
    }
    panic!("{last}");
}
