//! The machine changes under a run: threads that other programs move or slow down, a CPU that goes away, settings that
//! another program writes.

use crate::process::{Finished, Meter, short, traced};
use archive::message::{Ending, Severity};
use archive::method::Method;
use archive::settings::{Policy, RunSettings, SettingChange};
use fixtures::instances::instances_of;
use fixtures::waiting::wait_until;
use prerequisites::{Machine, require};
use rustix::process::Pid;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

/// Longer than the meter takes to look again.
const A_LOOK: Duration = Duration::from_millis(1500);
const CPU_ONLINE: &str = "/sys/devices/system/cpu/cpu1/online";
const STAT_INTERVAL: &str = "/proc/sys/vm/stat_interval";

/// Measures on one CPU; `interfere` hears of the meter and of its measuring thread once it has measured.
fn measured(settings: RunSettings, interfere: impl FnOnce(&Meter, Pid)) -> Finished {
    measured_with("tardy-cpu", settings, interfere)
}

/// The same with the thread of the meter whose name starts so.
fn measured_with(name: &str, settings: RunSettings, interfere: impl FnOnce(&Meter, Pid)) -> Finished {
    let state = tempfile::tempdir().unwrap();
    let mut meter = Meter::start(&settings, state.path());
    meter.read_until_measured();
    let tasks = fs::read_dir(format!("/proc/{}/task", meter.child.id())).unwrap().flatten();
    let mut threads =
        tasks.filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|comm| comm.starts_with(name)));
    let thread = threads.next().unwrap().file_name().to_str().unwrap().parse().unwrap();
    interfere(&meter, Pid::from_raw(thread).unwrap());
    meter.finish()
}

fn on_cpu(cpu: u32, policy: Policy) -> RunSettings {
    RunSettings { cpus: Some(vec![cpu]), policy, ..short(3000) }
}

/// Findings of the meter where its thread was not always on its CPU.
const THREAD_MOVED: [&str; 4] =
    ["[meter.affinity-changed]", "[meter.cpu-offline]", "[meter.thread-migrated]", "[meter.on-another-cpu]"];

fn invalid(finished: &Finished) -> String {
    finished.problems(Severity::Invalid).join("\n")
}

fn bind(thread: Pid, cpu: usize) {
    let mut cpus = rustix::thread::CpuSet::new();
    cpus.set(cpu);
    rustix::thread::sched_setaffinity(Some(thread), &cpus).unwrap();
}

fn has_second_cpu() -> bool {
    std::thread::available_parallelism().is_ok_and(|count| count.get() > 1)
}

#[test]
fn a_thread_that_was_elsewhere_for_a_moment_makes_the_run_invalid() {
    require!(
        Prepared("a second CPU", has_second_cpu()),
        Kernel("migrations in /proc/self/sched", Path::new("/proc/self/sched").exists())
    );
    let finished = measured(on_cpu(0, Policy::Other), |_, thread| {
        bind(thread, 1);
        // It wakes up there a few times, and is back before the meter looks.
        sleep(Duration::from_millis(20));
        bind(thread, 0);
    });
    let problems = invalid(&finished);
    assert!(THREAD_MOVED.iter().any(|code| problems.contains(code)) && problems.contains(" CPU 0"), "{problems}");
}

#[test]
fn a_partner_that_another_program_moves_or_slows_down_makes_the_run_invalid() {
    require!(Root, Program("chrt"), Prepared("a second CPU", has_second_cpu()));
    for moved in [true, false] {
        let settings = RunSettings { method: Method::Semaphore.into(), ..on_cpu(0, Policy::Fifo) };
        let finished = measured_with("tardy-stim", settings, |_, partner| {
            if moved {
                return bind(partner, 1);
            }
            let tid = partner.as_raw_nonzero().to_string();
            assert!(std::process::Command::new("chrt").args(["-o", "-p", "0", &tid]).status().unwrap().success());
        });
        let problems = invalid(&finished);
        assert!(problems.contains("[meter.partner-changed]"), "{moved}: {problems}");
    }
}

#[test]
fn a_policy_a_priority_or_a_nice_value_that_another_program_changes_makes_the_run_invalid() {
    require!(Root, Program("chrt"), Program("renice"));
    let cases: [(Policy, &[&str]); 3] = [
        (Policy::Fifo, &["chrt", "-o", "-p", "0"]),
        (Policy::Fifo, &["chrt", "-f", "-p", "3"]),
        (Policy::Other, &["renice", "-n", "5", "-p"]),
    ];
    for (policy, words) in cases {
        let finished = measured(on_cpu(0, policy), |_, thread| {
            let tid = thread.as_raw_nonzero().to_string();
            let mut command = std::process::Command::new(words[0]);
            let done = command.args(&words[1..]).arg(tid).stdout(std::process::Stdio::null()).status().unwrap();
            assert!(done.success(), "{words:?}");
        });
        let problems = invalid(&finished);
        assert!(
            problems.contains("[meter.scheduling-changed]") && problems.contains(" CPU 0"),
            "{words:?}: {problems}"
        );
    }
}

/// A CPU that is offline until this is dropped.
struct Offline;

impl Offline {
    fn take() -> Self {
        fs::write(CPU_ONLINE, "0").unwrap();
        Self
    }
}

impl Drop for Offline {
    fn drop(&mut self) {
        let _ = fs::write(CPU_ONLINE, "1");
    }
}

#[test]
fn a_cpu_that_goes_offline_makes_the_run_invalid_also_when_it_comes_back() {
    require!(Root, Prepared("a CPU that can go offline", Path::new(CPU_ONLINE).exists()));
    let _machine = Machine::alone();
    for stays in [true, false] {
        let mut offline = None;
        let finished = measured(on_cpu(1, Policy::Fifo), |_, _| {
            offline = Some(Offline::take());
            if !stays {
                offline = None;
            }
        });
        drop(offline);
        let problems = invalid(&finished);
        let moved = THREAD_MOVED.iter().any(|code| problems.contains(code)) && problems.contains(" CPU 1");
        assert!(moved, "stays offline: {stays}: {problems}");
        assert!(!stays || problems.contains("[meter.cpu-offline]"), "{problems}");
    }
}

#[test]
fn a_setting_of_the_run_that_another_program_writes_makes_it_invalid() {
    require!(Root);
    let _machine = Machine::alone();
    let before = fs::read_to_string(STAT_INTERVAL).unwrap();
    let change = SettingChange { path: STAT_INTERVAL.into(), value: "7".into() };
    let settings = RunSettings { settings: vec![change], ..on_cpu(0, Policy::Other) };
    // Back at the value before the run: there is nothing to restore in the end, and it was still not measured with 7.
    let finished = measured(settings, |_, _| fs::write(STAT_INTERVAL, &before).unwrap());
    assert_eq!(fs::read_to_string(STAT_INTERVAL).unwrap(), before);
    assert!(invalid(&finished).contains(STAT_INTERVAL), "{}", invalid(&finished));
}

#[test]
fn a_second_run_on_the_same_setting_is_refused_and_the_first_stays_valid() {
    require!(Root);
    let _machine = Machine::alone();
    let before = fs::read_to_string(STAT_INTERVAL).unwrap();
    let [state, elsewhere] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let settings = |value: &str| {
        let change = SettingChange { path: STAT_INTERVAL.into(), value: value.into() };
        RunSettings { settings: vec![change], ..on_cpu(0, Policy::Other) }
    };
    let mut first = Meter::start(&settings("7"), state.path());
    first.read_until_measured();
    // A meter with another directory of journals would not restore it either.
    for (value, directory) in [("7", &state), ("8", &state), ("7", &elsewhere), ("8", &elsewhere)] {
        let second = Meter::start(&settings(value), directory.path()).finish();
        assert_eq!((second.ending(), second.status.code()), (Some(Ending::Failed), Some(3)), "{value}");
        assert!(invalid(&second).contains("another measurement"), "{}", invalid(&second));
        assert_eq!(fs::read_to_string(STAT_INTERVAL).unwrap().trim(), "7");
    }
    let first = first.finish();
    assert_eq!((first.ending(), invalid(&first).as_str()), (Some(Ending::Complete), ""));
    assert_eq!(fs::read_to_string(STAT_INTERVAL).unwrap(), before);
}

#[test]
fn two_traced_runs_at_once_have_a_trace_each_and_report_each_other() {
    require!(Root, Tracefs);
    let _machine = Machine::alone();
    let state = tempfile::tempdir().unwrap();
    let mut first = Meter::start(&traced(6000), state.path());
    first.read_until_measured();
    // It is over before the first one looks for the last time.
    let mut second = Meter::start(&traced(1500), state.path());
    second.read_until_measured();
    let pids = [first.child.id(), second.child.id()];
    // Both are read at once: a meter whose output is not read waits.
    let second = std::thread::spawn(move || second.finish());
    let runs = [first.finish(), second.join().unwrap()];
    for (run, other) in runs.iter().zip([pids[1], pids[0]]) {
        assert_eq!(run.ending(), Some(Ending::Complete), "{:?}", run.problems(Severity::Notice));
        let problems = run.problems(Severity::Degraded).join("\n");
        assert!(
            problems.contains("[meter.another-run]") && problems.contains(&format!("(process {other})")),
            "{problems}"
        );
        assert!(run.spikes().iter().any(|spike| spike.snapshot.is_some()), "{problems}");
    }
    assert_eq!(pids.map(instances_of), [const { Vec::<String>::new() }; 2]);
}

/// The trace instances of a meter that record spikes: one, or two in turn.
fn recording_instances(meter: &Meter) -> Vec<PathBuf> {
    let names = instances_of(meter.child.id()).into_iter().filter(|name| name.ends_with("-a") || name.ends_with("-b"));
    names.map(|name| Path::new("/sys/kernel/tracing/instances").join(name)).collect()
}

#[test]
fn a_trace_that_another_program_takes_away_is_reported_once_and_put_back() {
    require!(Root, Tracefs);
    let _machine = Machine::alone();
    let cases = [
        ("switched the trace of this run off", "tracing_on", "0"),
        ("disabled events of this run's trace (sched:sched_switch)", "events/sched/sched_switch/enable", "0"),
        ("resized the trace buffers of this run", "buffer_size_kb", "70"),
    ];
    for (expected, file, value) in cases {
        let state = tempfile::tempdir().unwrap();
        let mut meter = Meter::start(&traced(8000), state.path());
        meter.read_until_measured();
        let files: Vec<PathBuf> = recording_instances(&meter).iter().map(|instance| instance.join(file)).collect();
        assert!(!files.is_empty(), "{expected}");
        // Its output is read meanwhile: a meter whose output is not read waits.
        let finished = std::thread::spawn(move || meter.finish());
        // Of two instances that record in turn, the next spike switches one on.
        for _ in 0..25 {
            files.iter().for_each(|file| fs::write(file, value).unwrap());
            sleep(Duration::from_millis(100));
        }
        if value == "0" {
            // One of two instances is off at any time.
            let is_on = || files.iter().any(|file| fs::read_to_string(file).is_ok_and(|text| text.starts_with('1')));
            wait_until("the meter puts it back", is_on);
        }
        let finished = finished.join().unwrap();
        let problems = finished.problems(Severity::Degraded);
        let found = problems.iter().filter(|problem| problem.contains(expected)).count();
        assert_eq!(found, 1, "{expected}: {problems:?}");
        assert_eq!(finished.ending(), Some(Ending::Complete));
    }
}

#[test]
fn more_files_are_opened_than_the_soft_limit_allows_where_the_trace_buffers_of_all_cpus_need_them() {
    require!(Root, Tracefs);
    let _machine = Machine::alone();
    let state = tempfile::tempdir().unwrap();
    let script = format!("ulimit -Sn 12 && exec {} \"$@\"", env!("CARGO_BIN_EXE_tardy-meter"));
    let mut command = std::process::Command::new("sh");
    command.args(["-c", &script, "sh"]);
    let finished = Meter::start_as(command, &traced(200), state.path()).finish();
    assert_eq!(finished.ending(), Some(Ending::Complete));
    let problems = finished.problems(Severity::Degraded).join("\n");
    assert!(!problems.contains("open files"), "{problems}");
    assert!(!finished.spikes().is_empty(), "{problems}");
}

/// A control group of version 2 for the test, removed at the end.
struct Group(PathBuf);

impl Group {
    fn make() -> Option<Self> {
        let root = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(Path::new);
        let root = root.into_iter().find(|root| root.join("cgroup.controllers").exists())?;
        let group = Self(root.join(format!("tardy-test-{}", std::process::id())));
        fs::create_dir(&group.0).ok()?;
        group.0.join("cgroup.freeze").exists().then_some(group)
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.freeze"), "0");
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn a_control_group_that_is_frozen_shows_as_missed_periods_of_each_cpu() {
    require!(Root);
    let group = Group::make();
    require!(Kernel("control groups of version 2 that freeze", group.is_some()));
    let group = group.unwrap();
    let settings = RunSettings { policy: Policy::Other, ..short(3000) };
    let finished = measured(settings, |meter, _| {
        fs::write(group.0.join("cgroup.procs"), meter.child.id().to_string()).unwrap();
        fs::write(group.0.join("cgroup.freeze"), "1").unwrap();
        // A busy machine lets the threads go on until each of them had a turn.
        while !fs::read_to_string(group.0.join("cgroup.events")).unwrap().contains("frozen 1") {
            sleep(Duration::from_millis(1));
        }
        sleep(A_LOOK / 5);
        fs::write(group.0.join("cgroup.freeze"), "0").unwrap();
    });
    for totals in finished.totals() {
        assert!(totals.missed_periods > 200, "{totals:?}");
        assert!(totals.latency_ns_max.unwrap() > 200_000_000, "{totals:?}");
    }
}
