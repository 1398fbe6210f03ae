//! A meter that is killed or gets errors at any of its system calls that change something: every setting is restored
//! afterwards, by the meter or by `restore`.

#![cfg(target_arch = "x86_64")]

use crate::process::{short, traced};
use archive::facts::Applied;
use archive::settings::{RunSettings, SettingChange};
use fixtures::instances::instances_of;
use prerequisites::{Machine, require};
use std::fs::{self, File};
use std::io::{self, Read, Seek, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use syscall_faults::{Call, Ended, Fault, run, run_counting};

/// From errno(3).
const EIO: i32 = 5;
const ENOSPC: i32 = 28;

/// Settings that are harmless during a test; the kernel shows the last in another form than it accepts.
const SETTINGS: [(&str, &str); 3] = [
    ("/proc/sys/vm/stat_interval", "7"),
    ("/proc/sys/vm/dirty_writeback_centisecs", "0701"),
    ("/proc/sys/vm/lowmem_reserve_ratio", "256 256 31 1 1"),
];

fn shown(path: &str) -> String {
    fs::read_to_string(path).unwrap().split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The settings before the test, which are restored in any case.
struct Before(Vec<String>);

impl Before {
    fn now() -> Self {
        Self(SETTINGS.iter().map(|(path, _)| shown(path)).collect())
    }

    /// Whether every setting has its earlier value.
    fn is_back(&self) -> bool {
        SETTINGS.iter().zip(&self.0).all(|((path, _), before)| shown(path) == *before)
    }
}

impl Drop for Before {
    fn drop(&mut self) {
        for ((path, _), before) in SETTINGS.iter().zip(&self.0) {
            let _ = fs::write(path, before);
        }
    }
}

fn changes() -> Vec<SettingChange> {
    SETTINGS.map(|(path, value)| SettingChange { path: path.into(), value: value.into() }).into()
}

fn meter(words: &[&str], state: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy-meter"));
    command.args(words).env("TARDY_STATE_DIR", state);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// A meter that changes the settings permanently, and the file with its output.
fn applying(state: &Path) -> (Command, File) {
    let mut line = tempfile::tempfile().unwrap();
    writeln!(line, "{}", serde_json::to_string(&changes()).unwrap()).unwrap();
    line.rewind().unwrap();
    let (answer, output) = io::pipe().unwrap();
    let mut command = meter(&["apply"], state);
    command.stdin(line).stdout(output);
    (command, File::from(std::os::fd::OwnedFd::from(answer)))
}

/// Restores everything; a second call reports that nothing was left.
fn restore(state: &Path, when: &str) {
    for said in ["", "nothing to restore"] {
        let output = meter(&["restore"], state).stdout(Stdio::piped()).stderr(Stdio::piped()).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{when}: {output:?}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(said), "{when}: {output:?}");
    }
}

fn apply(state: &Path, fault: Option<(usize, Fault)>) -> (Ended, Vec<Applied>) {
    let (mut command, mut answer) = applying(state);
    let ended = run(&mut command, fault).unwrap();
    // The output ends when its last writer closes it.
    drop(command);
    let mut text = String::new();
    answer.read_to_string(&mut text).unwrap();
    (ended, serde_json::from_str(&text).unwrap_or_default())
}

#[test]
fn whatever_system_call_a_meter_is_killed_at_restore_puts_every_setting_back() {
    require!(Root);
    let _machine = Machine::alone();
    let before = Before::now();
    let state = tempfile::tempdir().unwrap();
    let (whole, applied) = apply(state.path(), None);
    assert!(applied.len() == 3 && applied.iter().all(|one| one.problem.is_none()), "{applied:?}");
    assert!(!before.is_back());
    restore(state.path(), "whole");
    assert!(before.is_back());
    for at in 0..whole.calls {
        let state = tempfile::tempdir().unwrap();
        let (killed, _) = apply(state.path(), Some((at, Fault::Kill)));
        let when = format!("killed at call {at}, {}", killed.met.unwrap());
        restore(state.path(), &when);
        assert!(before.is_back(), "{when}");
    }
    println!("apply killed at {} system calls: none lost", whole.calls);
    assert!(whole.calls > 20, "{}", whole.calls);
}

#[test]
fn a_restore_that_is_killed_at_any_system_call_is_finished_by_the_next() {
    require!(Root);
    let _machine = Machine::alone();
    let before = Before::now();
    let mut calls = 0;
    for at in 0.. {
        let state = tempfile::tempdir().unwrap();
        apply(state.path(), None);
        let ended = run(&mut meter(&["restore"], state.path()), Some((at, Fault::Kill))).unwrap();
        let Some(met) = ended.met else { break };
        calls += 1;
        let when = format!("killed at call {at}, {met}");
        restore(state.path(), &when);
        assert!(before.is_back(), "{when}");
    }
    println!("restore killed at {calls} system calls: none lost");
    assert!(calls > 5, "{calls}");
}

#[test]
fn a_meter_that_is_refused_at_any_system_call_says_what_it_changed_and_restore_puts_it_back() {
    require!(Root);
    let _machine = Machine::alone();
    let before = Before::now();
    let mut faults = 0;
    for at in 0.. {
        let mut met = None;
        for fault in [Fault::Refuse(EIO), Fault::CutShort(ENOSPC), Fault::Full(ENOSPC)] {
            let state = tempfile::tempdir().unwrap();
            let (ended, applied) = apply(state.path(), Some((at, fault)));
            met = ended.met;
            let Some(met) = &met else { break };
            faults += 1;
            let when = format!("{fault:?} at call {at}, {met}: {applied:?}");
            assert!(matches!(ended.code, Some(0 | 3)), "{when}");
            for (one, before) in applied.iter().zip(&before.0) {
                let unchanged = shown(&one.path) == *before;
                // A write to a setting may itself be the one cut in half: then the kernel accepts the half.
                let half = matches!(fault, Fault::CutShort(_) | Fault::Full(_)) && met.contains(&one.path);
                assert!(half || unchanged == one.problem.is_some(), "{when}: {} is {}", one.path, shown(&one.path));
            }
            restore(state.path(), &when);
            assert!(before.is_back(), "{when}");
        }
        if met.is_none() {
            break;
        }
    }
    println!("apply refused {faults} times: none lost");
    assert!(faults > 60, "{faults}");
}

/// Calls about journals, settings and trace instances. Changes inside a run's instance disappear with the instance.
fn matters(state: &Path, call: &Call) -> bool {
    let setting = SETTINGS.iter().any(|(path, _)| call.path() == Path::new(path));
    let instance = call.path().parent().is_some_and(|parent| parent.ends_with("tracing/instances"));
    setting || instance || call.path().starts_with(state)
}

fn measure(settings: &RunSettings, state: &Path, fault: Option<(usize, Fault)>) -> Ended {
    // Open until the run is over: its end means that the host is gone.
    let (input, mut host) = io::pipe().unwrap();
    writeln!(host, "{}", serde_json::to_string(settings).unwrap()).unwrap();
    let mut command = meter(&["measure"], state);
    command.stdin(input);
    run_counting(&mut command, &|call| matters(state, call), fault).unwrap()
}

#[test]
fn a_run_that_is_killed_at_any_system_call_that_matters_is_undone() {
    require!(Root);
    let _machine = Machine::alone();
    let before = Before::now();
    let base = if prerequisites::tracefs().is_some() { traced(30) } else { short(30) };
    let settings = RunSettings { settings: changes(), ..base };
    let state = tempfile::tempdir().unwrap();
    let whole = measure(&settings, state.path(), None);
    assert_eq!(whole.code, Some(0));
    assert!(before.is_back(), "a run puts back what it changed");
    for at in 0..whole.calls {
        let state = tempfile::tempdir().unwrap();
        let killed = measure(&settings, state.path(), Some((at, Fault::Kill)));
        let when = format!("killed at call {at}, {}", killed.met.unwrap_or_default());
        restore(state.path(), &when);
        assert!(before.is_back(), "{when}");
        assert_eq!(instances_of(killed.pid.cast_unsigned()), [""; 0], "{when}");
    }
    println!("run killed at {} system calls: none lost", whole.calls);
    assert!(whole.calls > 30, "{}", whole.calls);
}
