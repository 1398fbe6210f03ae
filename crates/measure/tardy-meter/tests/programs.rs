//! Programs of the target as loads: started in rounds, parsed, interrupted, and leave nothing behind. Most tests use
//! scripts that imitate the real programs; those with the real ones need them installed.

use archive::settings::LoadRequest;
use fixtures::waiting::wait_until;
use load::{Report, RunningLoads};
use prerequisites::Prerequisite::Program;
use prerequisites::{met, require};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const METER: &str = env!("CARGO_BIN_EXE_tardy-meter");

/// Puts a script of this name into a separate directory.
fn script(name: &str, body: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    let path = folder.path().join(name);
    fs::write(&path, format!("#!/bin/sh\n{body}\n")).expect("a script");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("rights");
    folder
}

fn meter(load: &str, programs: &Path, temporary: &Path) -> Command {
    let path = format!("{}:/usr/bin:/bin", programs.display());
    let mut command = Command::new(METER);
    command.args(["load", load]).env("PATH", path).env("TMPDIR", temporary).stdin(Stdio::null());
    command
}

/// The output of a load that ends by itself.
fn ended(load: &str, programs: &Path) -> Output {
    let temporary = tempfile::tempdir().expect("a directory");
    let output = meter(load, programs, temporary.path()).output().expect("the meter runs");
    assert_eq!(fs::read_dir(temporary.path()).expect("a listing").count(), 0, "something stayed behind");
    output
}

const HACKBENCH: &str = "\
echo 'Running in process mode with 1 groups using 40 file descriptors each (== 40 tasks)'
echo 'Each sender will pass 100 messages of 100 bytes'
[ -e ran ] && { echo 'no more of this' >&2; exit 3; }
touch ran
echo 'Time: 0.225'";

#[test]
fn a_round_s_own_figures_are_the_progress_and_a_failed_round_ends_the_load() {
    let programs = script("hackbench", HACKBENCH);
    let output = ended("hackbench", programs.path());
    assert_eq!(output.status.code(), Some(1));
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(stdout.contains("hackbench: 40000 messages"), "{stdout}");
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.contains("no more of this; hackbench "), "{complaint}");
}

#[test]
fn a_round_without_work_ends_the_load() {
    for (body, said) in [("exit 0", "it printed nothing"), ("echo all is well", "all is well")] {
        let programs = script("stress-ng", body);
        let output = ended("stress-ng:matrix", programs.path());
        assert_eq!(output.status.code(), Some(1));
        let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(complaint.contains("stress-ng") && complaint.contains(said), "{complaint}");
    }
}

#[test]
fn a_missing_program_is_reported_with_the_fix_before_anything_starts() {
    require!(Root, Program("unshare"));
    // A mount namespace with an empty directory of programs, because rt-app may be installed here.
    let hide = "mount -t tmpfs none /usr/bin && exec \"$0\" load rt-app:/tasks.json";
    let mut command = Command::new("unshare");
    let output = command.args(["--mount", "sh", "-c", hide, METER]).output().expect("unshare runs");
    assert_eq!(output.status.code(), Some(2));
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(complaint.contains("`rt-app`"), "{complaint}");
}

#[test]
fn files_and_processes_of_a_program_go_with_a_killed_meter() {
    let body = "sleep 1000 & echo $$ > pid; trap '' INT TERM; while :; do dd if=/dev/zero of=big bs=1k count=64 2>/dev/null; done";
    let programs = script("fio", body);
    let temporary = tempfile::tempdir().expect("a directory");
    let mut child: Child =
        meter("fio:randrw", programs.path(), temporary.path()).stdout(Stdio::null()).spawn().expect("the meter starts");
    let files = || walk(temporary.path());
    wait_until("the program's files", || files().iter().any(|path| path.ends_with("big")));
    let number: Vec<_> = files().into_iter().filter(|path| path.ends_with("pid")).collect();
    let pid = fs::read_to_string(&number[0]).expect("a number").trim().to_owned();
    child.kill().expect("a kill");
    child.wait().expect("an end");
    wait_until("the end of the program", || !Path::new(&format!("/proc/{pid}")).exists());
    wait_until("an empty place", || fs::read_dir(temporary.path()).expect("a listing").count() == 0);
}

fn walk(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { walk(&path) } else { vec![path] }).collect()
}

/// Runs a load until it has reported work, then stops it.
fn worked(text: &str) -> Report {
    let request = LoadRequest::parse(text).expect("a load");
    let mut loads = RunningLoads::start_with(Path::new(METER), &[request]).expect("the load starts");
    // On a busy machine a program may wait longer than it takes to count as idle.
    wait_until("progress", || loads.sample().remove(0).progress > 0);
    let pids = loads.pids();
    let report = loads.stop().remove(0);
    assert!(report.is_alive(), "{report:?}");
    assert!(pids.iter().all(|pid| !Path::new(&format!("/proc/{pid}")).exists()), "{text}: some of {pids:?} are left");
    assert_eq!(report.name, text);
    report
}

#[test]
fn the_real_programs_report_their_work() {
    for (program, load, unit) in [
        ("stress-ng", "stress-ng:matrix,ops=50,workers=1,cpus=0", "bogo operations"),
        ("fio", "fio:randrw,time=1,size=1m", "I/Os"),
        ("iperf3", "iperf3:time=1", "bytes"),
        ("hackbench", "hackbench:loops=20,pipe", "messages"),
    ] {
        if met(&[Program(program)]) {
            assert_eq!(worked(load).unit, unit);
        }
    }
}

/// A control loop and a heavier task, for a second at a time, in the format of rt-app 1.0.
const TASKS: &str = r#"{
  "tasks": {
    "control": { "loop": -1, "run": 300, "timer": { "ref": "tick", "period": 2000 } },
    "vision": { "loop": -1, "run": 3000, "sleep": 7000 },
  },
  "global": { "default_policy": "SCHED_OTHER", "duration": 1, "calibration": 100, "lock_pages": false },
}"#;

#[test]
fn the_real_rt_app_reports_its_phases_and_must_not_calibrate_itself() {
    require!(Program("rt-app"));
    let tasks = tempfile::NamedTempFile::new().expect("a file");
    fs::write(tasks.path(), TASKS).expect("tasks");
    let load = format!("rt-app:{}", tasks.path().display());
    assert_eq!(worked(&load).unit, "phases");
    fs::write(tasks.path(), TASKS.replace("100,", "\"CPU0\",")).expect("tasks");
    let output = ended(&load, Path::new("/nowhere"));
    let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(2) && complaint.contains("pLoad"), "{complaint}");
}

/// CPU time used by a process, in hundredths of a second; 0 if it is gone.
fn cpu_ticks(pid: i32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<u64>().ok()).sum()
}

#[test]
fn work_before_an_interruption_counts() {
    require!(Program("stress-ng"));
    let request = LoadRequest::parse("stress-ng:matrix,workers=1,time=1000").expect("a load");
    let mut loads = RunningLoads::start_with(Path::new(METER), &[request]).expect("the load starts");
    wait_until("a stressor", || {
        assert!(loads.sample()[0].is_alive());
        loads.pids().len() >= 3
    });
    let processes = loads.pids();
    wait_until("work of the stressor", || processes.iter().map(|pid| cpu_ticks(*pid)).sum::<u64>() >= 20);
    assert_eq!(loads.sample()[0].progress, 0);
    let report = loads.stop().remove(0);
    assert!(report.is_alive() && report.progress > 0, "{report:?}");
}

#[test]
fn a_build_is_counted_by_what_it_makes() {
    require!(Program("make"));
    let tree = tempfile::tempdir().expect("a directory");
    let makefile = "defconfig:\n\t@touch $(O)/.config\nclean:\n\t@rm -f $(O)/*.o\nall: $(O)/a.o $(O)/b.o\n\
                    $(O)/%.o: $(O)/.config\n\t@echo '  CC      '$*.o; touch $@\n.DEFAULT_GOAL := all\n";
    fs::write(tree.path().join("Makefile"), makefile).expect("a Makefile");
    let report = worked(&format!("kernel-build:{},jobs=2", tree.path().display()));
    assert!(report.unit.starts_with("steps "), "{}", report.unit);
    let left: Vec<_> = fs::read_dir(tree.path()).expect("a listing").flatten().map(|entry| entry.file_name()).collect();
    assert_eq!(left, ["Makefile"], "the tree was touched");
}
