//! Loads as processes: they work, they are supervised, and leave nothing behind.

use archive::load::BUILTIN_LOADS;
use archive::settings::LoadRequest;
use fixtures::waiting::wait_until;
use load::problem::Failure;
use load::{LoadError, Report, RunningLoads};
use prerequisites::Prerequisite::Root;
use prerequisites::{met, require};
use std::collections::HashSet;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const METER: &str = env!("CARGO_BIN_EXE_tardy-meter");

fn builtin(name: &str, workers: u32) -> LoadRequest {
    LoadRequest::Builtin { name: name.into(), workers }
}

fn command(line: &str) -> LoadRequest {
    LoadRequest::Command { line: line.into(), once: false }
}

fn start(request: LoadRequest) -> RunningLoads {
    RunningLoads::start_with(Path::new(METER), &[request]).expect("the load starts")
}

/// Standard error of a load that ended.
fn stderr(report: &Report) -> String {
    match &report.failure {
        Some(Failure::Died { stderr }) => stderr.clone(),
        other => panic!("{}: {other:?}", report.name),
    }
}

fn wait_for_progress(loads: &mut RunningLoads) -> Vec<Report> {
    wait_until("progress", || {
        let reports = loads.sample();
        let dead: Vec<_> = reports.iter().filter(|report| !report.is_alive() && report.progress == 0).collect();
        assert!(dead.is_empty(), "{dead:?}");
        reports.iter().all(|report| report.progress > 0)
    });
    loads.sample()
}

/// A process that ends with the test, even if it fails.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Indices in [`stat`], and the priority of a process without a nice value.
const PARENT: usize = 1;
const PRIORITY: usize = 15;
const POLICY: usize = 38;
const NICE_0: &str = "20";

/// Fields of `/proc/PID/stat` after the name, state first; `None` if there is no such process or only a zombie.
fn stat(pid: i32) -> Option<Vec<String>> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<_> = line[line.rfind(')')? + 1..].split_whitespace().map(String::from).collect();
    (fields[0] != "Z" && fields[0] != "X").then_some(fields)
}

fn alive(pid: &i32) -> bool {
    stat(*pid).is_some()
}

fn descendants(root: i32) -> HashSet<i32> {
    let all = std::fs::read_dir("/proc").expect("/proc").flatten();
    let numbers: Vec<i32> = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    let parents: Vec<(i32, i32)> =
        numbers.iter().filter_map(|&pid| Some((pid, stat(pid)?[PARENT].parse().ok()?))).collect();
    let mut processes = HashSet::from([root]);
    loop {
        let before = processes.len();
        processes.extend(
            parents.iter().filter(|(_, parent)| processes.contains(parent)).map(|(pid, _)| *pid).collect::<Vec<_>>(),
        );
        if processes.len() == before {
            processes.remove(&root);
            return processes;
        }
    }
}

fn kill(pid: i32) {
    let status = Command::new("kill").args(["-KILL", &pid.to_string()]).status().expect("kill");
    assert!(status.success());
}

fn load_directories(supervisor: i32) -> Vec<std::path::PathBuf> {
    let places = std::env::var_os("TMPDIR").map(std::path::PathBuf::from);
    let places = places.into_iter().chain(["/dev/shm", "/tmp", "/var/tmp"].map(Into::into));
    places.map(|place| place.join(format!("tardy-load-{supervisor}"))).filter(|path| path.exists()).collect()
}

/// The meter as a separate program that runs a load, to be killed.
fn meter_alone(arguments: &[&str], temporary: &Path) -> Child {
    let mut meter = Command::new(METER);
    meter.arg("load").args(arguments).env("TMPDIR", temporary).stdout(Stdio::null()).spawn().expect("the meter starts")
}

/// Echo requests and the kernel's log need root.
fn may_run(name: &str) -> bool {
    !["ping", "molnar", "printk"].contains(&name) || met(&[Root])
}

#[test]
fn every_builtin_load_makes_progress_and_leaves_nothing() {
    for load in BUILTIN_LOADS.iter().filter(|load| may_run(load.name)) {
        let mut loads = start(builtin(load.name, 1));
        let reports = wait_for_progress(&mut loads);
        assert_eq!(reports.len(), load.parts.len().max(1));
        for report in &reports {
            assert!(report.is_alive(), "{report:?}");
        }
        let pids = loads.pids();
        assert!(pids.len() > reports.len(), "{}: supervisors without workers: {pids:?}", load.name);
        if load.name == "dentry" {
            assert_eq!(load_directories(pids[0]).len(), 1);
        }
        let last = loads.stop();
        assert!(last.iter().zip(&reports).all(|(last, first)| last.progress >= first.progress && last.is_alive()));
        let left: Vec<_> = pids.iter().filter(|pid| Path::new(&format!("/proc/{pid}")).exists()).collect();
        assert!(left.is_empty(), "{}: {left:?} of {pids:?} are left", load.name);
        assert!(pids.iter().all(|&pid| load_directories(pid).is_empty()), "{}", load.name);
    }
}

#[test]
fn the_number_of_workers_is_the_one_asked_for() {
    let mut loads = start(builtin("cpu", 3));
    wait_for_progress(&mut loads);
    wait_until("three workers", || loads.pids().len() == 4);
    drop(loads);
    let mut loads = start(builtin("messaging", 2));
    wait_for_progress(&mut loads);
    wait_until("two groups of forty", || loads.pids().len() == 81);
}

#[test]
fn a_killed_supervisor_is_reported_and_takes_its_workers_along() {
    let mut loads = start(builtin("dentry", 2));
    wait_for_progress(&mut loads);
    let pids = loads.pids();
    kill(pids[0]);
    wait_until("the end of every worker", || !pids.iter().any(alive));
    wait_until("a report of the end", || !loads.sample()[0].is_alive());
    let report = loads.stop().remove(0);
    assert!(!report.is_alive() && report.progress > 0);
    assert!(matches!(report.failure, Some(Failure::Killed { signal: 9, .. })), "{report:?}");
    assert_eq!(load_directories(pids[0]), Vec::<std::path::PathBuf>::new());
}

#[test]
fn processes_of_a_killed_supervisor_are_killed_at_the_stop() {
    let mut loads = start(command("sleep 1000 & while :; do :; done"));
    wait_for_progress(&mut loads);
    let pids = loads.pids();
    assert_eq!(pids.len(), 3, "supervisor, shell and sleep");
    kill(pids[0]);
    wait_until("a report of the end", || !loads.sample()[0].is_alive());
    loads.stop();
    wait_until("the end of all its processes", || !pids.iter().any(alive));
}

#[test]
fn a_supervisor_that_does_not_react_is_killed_at_the_stop() {
    let mut loads = start(builtin("dentry", 1));
    wait_for_progress(&mut loads);
    let pids = loads.pids();
    let stopped = Command::new("kill").args(["-STOP", &pids[0].to_string()]).status().expect("kill");
    assert!(stopped.success());
    loads.stop();
    wait_until("the end of every process", || !pids.iter().any(alive));
    assert_eq!(load_directories(pids[0]), Vec::<std::path::PathBuf>::new());
}

#[test]
fn a_killed_worker_ends_the_load() {
    let mut loads = start(builtin("messaging", 1));
    wait_for_progress(&mut loads);
    let pids = loads.pids();
    kill(pids[7]);
    wait_until("a report of the end", || !loads.sample()[0].is_alive());
    assert!(!pids.iter().any(alive));
    let report = loads.stop().remove(0);
    let stderr = stderr(&report);
    assert!(stderr.contains(&format!(" {} ", pids[7])) && stderr.contains("signal 9"), "{stderr}");
}

#[test]
fn a_stopped_load_is_not_alive_until_it_goes_on() {
    let mut loads = start(builtin("cpu", 1));
    wait_for_progress(&mut loads);
    let worker = loads.pids()[1].to_string();
    let signal = |name: &str| assert!(Command::new("kill").args([name, &worker]).status().expect("kill").success());
    signal("-STOP");
    wait_until("a report of the stall", || !loads.sample()[0].is_alive());
    assert!(matches!(loads.sample()[0].failure, Some(Failure::Stalled { .. })));
    signal("-CONT");
    wait_until("a report of the recovery", || loads.sample()[0].is_alive());
}

#[test]
fn nothing_survives_a_killed_meter() {
    let grandchildren = ["--command", "sleep 1000 & (sleep 2000 & while :; do :; done) & wait"];
    let names: Vec<[&str; 3]> = BUILTIN_LOADS.iter().map(|load| [load.name, "--workers", "1"]).collect();
    let alone = names.iter().filter(|words| may_run(words[0])).map(|words| (&words[..], 2));
    for (arguments, at_least) in alone.chain([(&["mix"][..], 44), (&grandchildren, 5)]) {
        let temporary = tempfile::tempdir().expect("a directory");
        let mut meter = Killed(meter_alone(arguments, temporary.path()));
        let mut processes = HashSet::new();
        wait_until("all processes of the load", || {
            processes = descendants(meter.0.id() as i32);
            processes.len() >= at_least
        });
        meter.0.kill().expect("a kill");
        meter.0.wait().expect("an end");
        wait_until("the end of every process", || !processes.iter().any(alive));
        let left: Vec<_> = std::fs::read_dir(temporary.path()).expect("a listing").flatten().collect();
        assert!(left.is_empty(), "{arguments:?} left {left:?}");
    }
}

#[test]
fn the_progress_of_a_command_is_the_time_its_processes_use() {
    let mut loads = start(command("(while :; do :; done) & sleep 1000 & wait"));
    let first = wait_for_progress(&mut loads).remove(0);
    assert_eq!((first.unit, first.is_alive()), ("CPU ticks", true));
    wait_until("more CPU time", || loads.sample()[0].progress > first.progress + 20);
    let pids = loads.pids();
    loads.stop();
    assert!(!pids.iter().any(alive), "of {pids:?} some are left");
}

#[test]
fn a_command_without_effect_is_not_alive() {
    let mut loads = start(command("sleep 1000"));
    wait_until("a report of the stall", || !loads.sample()[0].is_alive());
    assert!(matches!(loads.stop()[0].failure, Some(Failure::Stalled { .. })));
}

#[test]
fn a_command_that_ends_is_not_alive_and_says_why() {
    for (line, expected) in [
        ("echo no such device >&2; exit 3", "no such device; the command ended with exit status 3"),
        ("kill -SEGV $$", "the command was killed by signal 11"),
    ] {
        let mut loads = start(command(line));
        wait_until("a report of the end", || !loads.sample()[0].is_alive());
        assert_eq!(stderr(&loads.stop()[0]), expected);
    }
}

#[test]
fn a_command_that_succeeds_starts_again_unless_it_is_to_run_once() {
    let directory = tempfile::tempdir().expect("a directory");
    let line = format!("echo >> {}/rounds", directory.path().display());
    let rounds = || std::fs::read_to_string(directory.path().join("rounds")).unwrap_or_default().lines().count();
    let mut loads = start(command(&line));
    wait_until("a third round", || rounds() >= 3);
    let report = loads.sample().remove(0);
    assert!(report.is_alive() && report.repeats >= Some(1), "{:?}", report.repeats);
    loads.stop();

    let once = directory.path().join("once");
    let line = format!("echo >> {}", once.display());
    let mut loads = start(LoadRequest::Command { line, once: true });
    wait_until("its only round", || once.exists());
    let report = loads.sample().remove(0);
    assert!(report.is_alive() && report.repeats.is_none());
    loads.stop();
    assert_eq!(std::fs::read_to_string(once).expect("a file").lines().count(), 1);
}

#[test]
fn the_last_words_of_a_talkative_command_are_kept() {
    let mut loads = start(command("dd if=/dev/zero bs=1k count=4096 >&2 2>/dev/null; echo last words >&2; exit 1"));
    wait_until("a report of the end", || !loads.sample()[0].is_alive());
    let stderr = stderr(&loads.stop()[0]);
    assert!(stderr.contains("last words; ") && stderr.ends_with(" 1"), "{stderr}");
}

#[test]
fn a_script_that_kills_its_group_kills_only_itself() {
    let mut loads = start(command("trap '' TERM; kill -TERM 0; while :; do :; done"));
    assert!(wait_for_progress(&mut loads)[0].is_alive());
}

#[test]
fn loads_are_ordinary_whatever_the_parent_is() {
    require!(Root, Program("chrt"));
    let mut realtime = Command::new("chrt");
    realtime.args(["--fifo", "3", "nice", "-n", "5", METER, "load", "cpu", "--workers", "1"]);
    let mut meter = Killed(realtime.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("chrt of util-linux"));
    let pid = meter.0.id() as i32;
    wait_until("a worker of a real-time parent", || {
        assert!(meter.0.try_wait().expect("a state").is_none(), "chrt was refused");
        descendants(pid).len() == 2
    });
    let fields = stat(pid).expect("the parent");
    assert_eq!(fields[POLICY], "1", "the parent is not SCHED_FIFO, so nothing was shown");
    // A supervisor that was just started may not have set its policy yet.
    wait_until("ordinary processes", || {
        let processes: Vec<_> = descendants(pid).into_iter().filter_map(stat).collect();
        processes.len() == 2 && processes.iter().all(|fields| fields[POLICY] == "0" && fields[PRIORITY] == NICE_0)
    });
}

#[test]
fn wrong_requests_start_nothing() {
    let error = RunningLoads::start_with(Path::new(METER), &[builtin("cpu", 1), builtin("warp", 0)]).err();
    let error = error.expect("there is no such load");
    assert!(matches!(&error, LoadError::Unknown { name } if name == "warp"));
    assert!(error.to_string().contains("messaging, dentry, walk"), "{error}");
    let empty = RunningLoads::start_with(Path::new(METER), &[command("  ")]).err();
    assert!(matches!(empty, Some(LoadError::EmptyCommand)));
    let usage = Command::new(METER).args(["load", "warp"]).output().expect("the meter runs");
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&usage.stderr).contains("warp"));
}
