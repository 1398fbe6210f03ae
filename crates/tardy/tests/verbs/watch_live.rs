//! `tardy watch` with the real meter on this machine and two misbehaving programs.

use archive::message::RunPhase;
use archive::reader::Run;
use archive::watched::WatchedKind;
use fixtures::fake_meter::Ended;
use fixtures::programs::{KnownMeter, real_meter};
use fixtures::waiting::wait_until;
use prerequisites::Prerequisite::{Prepared, Program, Tracefs};
use prerequisites::met;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Attempts at a cause that a loaded machine may hide behind larger ones.
const ATTEMPTS: usize = 3;

/// The real meter, if this machine supports watching with it.
pub fn meter() -> Option<PathBuf> {
    real_meter().filter(|_| met(&[Tracefs, Program("cc")]))
}

/// One of `tests/programs`, compiled.
pub fn program(folder: &TempDir, name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c");
    let binary = folder.path().join(name);
    let compiled = Command::new("cc").args(["-O1", "-pthread", "-static", "-o"]).arg(&binary).arg(source).status();
    assert!(compiled.unwrap().success());
    binary
}

/// A watch of these words, in this folder.
pub fn tardy_watch(meter: &Path, folder: &TempDir, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.arg("watch").arg("--beside-others").args(words).current_dir(folder.path());
    command.env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.path().join("state"));
    command
}

fn watch(meter: &Path, folder: &TempDir, words: &[&str]) -> Ended {
    watch_by(Command::new(env!("CARGO_BIN_EXE_tardy")), meter, folder, words)
}

fn watch_by(mut command: Command, meter: &Path, folder: &TempDir, words: &[&str]) -> Ended {
    command.arg("watch").args(["--beside-others"]).args(words).current_dir(folder.path());
    command.env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.path().join("state"));
    Ended::of(command.output().unwrap())
}

/// Whether a spike of a thread has a finding of this culprit, above a hint.
fn blames(summary: &serde_json::Value, thread: &str, culprit: &str) -> bool {
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let named = |number: &serde_json::Value| {
        list(&summary["cpus"]).iter().any(|cpu| cpu["thread"] == *number && cpu["watched"]["name"] == thread)
    };
    list(&summary["spikes"]).iter().filter(|spike| named(&spike["thread"])).any(|spike| {
        list(&spike["explanation"]["findings"])
            .iter()
            .any(|finding| finding["culprit"] == culprit && finding["confidence"] != "hint")
    })
}

/// The instant at which a phase of the run began.
fn began(run: &Run, wanted: RunPhase) -> i64 {
    let found = run.phases.iter().find(|(phase, _)| *phase == wanted);
    found.unwrap_or_else(|| panic!("no {wanted:?}: {:?}", run.phases)).1
}

#[test]
fn preparing_a_watch_takes_no_time_from_its_command() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let words = ["--duration", "300ms", "--out", "run", "--", "sh", "-c", "while sleep 0.01; do :; done"];
    let ended = watch(&meter, &folder, &words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let run = Run::open(folder.path().join("run")).unwrap();
    let (ready, measured) = (began(&run, RunPhase::Settle), began(&run, RunPhase::Measure));
    assert!(measured >= ready, "counted for {} ns before everything was ready", ready - measured);
}

fn is_blamed(name: &str, cycles: &str, cycle_limit: &str, thread: &str, culprit: &str) {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, name);
    let program = program.display().to_string();
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        let out = format!("run-{attempt}");
        let words = ["--json", "--cycle-limit", cycle_limit, "--out", &out, "--", &program, cycles];
        let ended = watch(&meter, &folder, &words);
        let summary = ended.json();
        assert_eq!(summary["state"], "complete", "{}", ended.stderr);
        assert_eq!(summary["valid"], true, "{}", ended.stderr);
        assert!(ended.stderr.contains(&format!("{name}: {cycles} cycles")), "its output: {}", ended.stderr);
        last = ended.stdout;
        if blames(&summary, thread, culprit) {
            return;
        }
    }
    panic!("{culprit} of {thread} was not named in {ATTEMPTS} attempts; the last one: {last}");
}

#[test]
fn a_priority_inversion_is_named() {
    is_blamed("inversion", "60", "3ms", "arm-high", "priority-inversion");
}

#[test]
fn page_faults_in_a_loop_are_named() {
    is_blamed("fault", "400", "600us", "fault", "page-fault");
}

/// The number before a word of a line.
fn number_before(line: &str, word: &str) -> Option<u64> {
    line.split(word).next()?.trim_end().rsplit(' ').next()?.parse().ok()
}

/// As JACK with an urgent task on its CPU: an answer with a limit, and one without.
#[test]
fn the_second_line_names_the_task_that_caused_the_counted_lines() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let (periods, hog) = (program(&folder, "periods").display().to_string(), program(&folder, "hog"));
    let _hog = Foreign(Command::new(hog).args(["0", "4000", "200000"]).spawn().unwrap());
    for (place, limit) in [(0, &["--limit", "500us"][..]), (1, &[][..])] {
        let mut last = String::new();
        let named = (0..ATTEMPTS).any(|attempt| {
            let out = format!("run-{place}-{attempt}");
            let words = [limit, &["--count", "XRun", "--out", &out, "--", &periods, "0", "4000"]].concat();
            last = watch(&meter, &folder, &words).stdout;
            let mut answer = last.lines().filter(|line| !line.starts_with("XRun of"));
            let second = answer.nth(1).unwrap_or_default();
            let of_hog = number_before(second, "after other-rt-task (hog");
            let all = number_before(second, "lines with XRun");
            all.zip(of_hog).is_some_and(|(all, of_hog)| of_hog >= 5 && of_hog <= all)
        });
        assert!(named, "{last}");
    }
}

/// The meter and what it watches share a CPU, so some timer interrupts come in on top of the meter.
#[test]
fn a_wake_up_counts_also_where_its_interrupt_came_in_on_the_meter() {
    const CYCLES: u64 = 1500;
    /// Cycles that became overdue between the program's look at the clock and its sleep.
    const UNCERTAIN: u64 = 5;
    let Some(meter) = meter().filter(|_| met(&[Program("taskset")])) else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, "fault").display().to_string();
    let mut command = Command::new("taskset");
    command.args(["--cpu-list", "0", env!("CARGO_BIN_EXE_tardy")]);
    let (cycles, period_ms, kb) = (CYCLES.to_string(), "1", "4");
    let ended = watch_by(command, &meter, &folder, &["--json", "--out", "run", "--", &program, &cycles, period_ms, kb]);
    let said = ended.stderr.split(&format!("fault: {CYCLES} cycles, ")).nth(1);
    let overdue = said.and_then(|said| said.split(' ').next()?.parse::<u64>().ok());
    let overdue = overdue.unwrap_or_else(|| panic!("{}", ended.stderr));
    let summary = ended.json();
    let timer = summary["cpus"].as_array().unwrap().iter().find(|cpu| cpu["watched"]["kind"] == "timer").unwrap();
    let counted = timer["cycles"].as_u64().unwrap();
    assert!(counted <= CYCLES && CYCLES <= counted + overdue + UNCERTAIN, "{counted} of {CYCLES}, {overdue} overdue");
}

/// A program that was not started by `tardy watch`.
pub struct Foreign(pub Child);

impl Drop for Foreign {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_process_that_ran_before_is_measured_and_left_alone() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let meter = KnownMeter::of(&meter, folder.path());
    let program = program(&folder, "fault");
    // Little memory: on a busy machine a loop that cannot keep up never sleeps, so nothing would wake it.
    let cycles_period_and_kb = ["100000", "2", "64"];
    let mut foreign = Foreign(Command::new(program).args(cycles_period_and_kb).stdout(Stdio::null()).spawn().unwrap());
    let pid = foreign.0.id().to_string();
    // On a busy machine an ordinary thread may have to wait long for its first turn.
    let watched = ["700ms", "5s", "30s"].iter().find_map(|duration| {
        let words = ["--pid", &pid, "--duration", duration, "--every-sample", "--json", "--out", duration];
        let ended = watch(meter.path(), &folder, &words);
        let starved = ended.code == Some(3) && ended.stdout.contains("archive.nothing-watched");
        (!starved).then_some((ended, *duration))
    });
    let (ended, run) = watched.expect("it slept all the time");
    assert_eq!(ended.code, Some(0), "{} {}", ended.stderr, ended.stdout);
    let summary = ended.json();
    assert!(foreign.0.try_wait().unwrap().is_none(), "it was ended");
    let timers = summary["cpus"].as_array().unwrap().iter().find(|cpu| cpu["watched"]["kind"] == "timer").unwrap();
    let cycles = timers["cycles"].as_u64().unwrap();
    assert!(cycles > 0);
    let samples = folder.path().join(run).join("samples").join(format!("{}.bin", timers["thread"]));
    assert_eq!(samples.metadata().unwrap().len(), cycles * 16, "every sample is kept");
    assert_eq!(meter.instances(), [""; 0]);
    let report = Command::new(env!("CARGO_BIN_EXE_tardy")).args(["report", run]).current_dir(folder.path()).output();
    assert!(report.unwrap().status.success());
}

/// A control group below the root of the unified hierarchy, removed with the test.
pub struct Group(pub PathBuf);

impl Group {
    /// `None` if this machine has no unified hierarchy that the test may change.
    pub fn new(name: &str) -> Option<Self> {
        let mounts = std::fs::read_to_string("/proc/mounts").unwrap();
        let unified = mounts.lines().find_map(|line| line.strip_prefix("cgroup2 ")?.split(' ').next());
        let path = Path::new(unified.unwrap_or("/nonexistent")).join(name);
        let made = std::fs::create_dir(&path).is_ok();
        met(&[Prepared("a control group file system that can be written", made)]).then_some(Self(path))
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn a_service_whose_group_is_made_again_is_watched_throughout() {
    let Some(meter) = meter() else { return };
    let unit = format!("tardy-test-{}.service", std::process::id());
    let Some(group) = Group::new(&unit) else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, "fault");
    // As a service manager: a new group for each start, and every process lives for 300 cycles of 2 ms.
    let script =
        "while mkdir -p $1; do sh -c 'echo $$ > $1/cgroup.procs; exec $2 300 2 64' start $1 $2; rmdir $1; done";
    let mut service = Command::new("sh");
    service.args(["-c", script, "service"]).arg(&group.0).arg(&program).stdout(Stdio::null());
    let mut service = Foreign(service.spawn().unwrap());
    wait_until("it never started", || {
        std::fs::read_to_string(group.0.join("cgroup.procs")).is_ok_and(|processes| !processes.is_empty())
    });
    let ended = watch(&meter, &folder, &["--unit", &unit, "--duration", "15s", "--json", "--out", "run"]);
    assert_eq!(ended.code, Some(0), "{} {}", ended.stderr, ended.stdout);
    let run = Run::open(folder.path().join("run")).unwrap();
    let timers = run.watched.values().filter(|series| series.kind == WatchedKind::Timer && series.name == "fault");
    let seen = timers.filter(|series| run.threads[&series.thread].totals.cycles > 0).count();
    assert!(seen > 10, "{seen} of its processes were measured: {}", ended.stdout);
    let said = run.problems.iter().find(|problem| problem.code.as_str() == "meter.program-restarted");
    assert!(said.is_some_and(|problem| problem.text.contains(&unit)), "{:?}", run.problems);
    let _ = service.0.kill();
    wait_until("its last process stays", || {
        std::fs::read_to_string(group.0.join("cgroup.procs")).is_ok_and(|processes| processes.is_empty())
            || !group.0.exists()
    });
}
