//! After any fault of a run, the machine is restored and the host is informed.
//!
//! These tests change and restore real settings of their machine; they need root, and exclusive use.

use crate::process::{Meter, short, traced};
use archive::message::{Ending, LoadReport, Message, RunPhase, Severity};
use archive::settings::{LoadRequest, RunSettings, SettingChange};
use archive::spike::SpikeReason;
use fixtures::instances::instances_of;
use prerequisites::{Machine, is_root, require};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const RT_RUNTIME: &str = "/proc/sys/kernel/sched_rt_runtime_us";

/// Sets an odd value for the test and restores the old one at its end.
struct OddRuntime(String);

impl OddRuntime {
    fn set() -> Self {
        let before = fs::read_to_string(RT_RUNTIME).unwrap();
        fs::write(RT_RUNTIME, "951001").unwrap();
        Self(before)
    }
}

impl Drop for OddRuntime {
    fn drop(&mut self) {
        let _ = fs::write(RT_RUNTIME, self.0.trim());
    }
}

fn runtime() -> String {
    fs::read_to_string(RT_RUNTIME).unwrap().trim().to_owned()
}

fn with_changed_runtime(settings: RunSettings) -> RunSettings {
    let change = SettingChange { path: RT_RUNTIME.into(), value: "960000".into() };
    RunSettings { settings: vec![change], ..settings }
}

fn restore(state: &Path) -> String {
    let output =
        Command::new(env!("CARGO_BIN_EXE_tardy-meter")).arg("restore").env("TARDY_STATE_DIR", state).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_killed_meter_is_repaired_by_restore() {
    require!(Root);
    let _machine = Machine::alone();
    let _odd = OddRuntime::set();
    let state = tempfile::tempdir().unwrap();
    let mut meter = Meter::start(&with_changed_runtime(traced(30_000)), state.path());
    let pid = meter.child.id();
    meter.read_until(RunPhase::Measure);
    assert_eq!(runtime(), "960000");
    meter.signal(Signal::KILL);
    meter.finish();
    assert_eq!(runtime(), "960000", "nobody restores after SIGKILL by itself");
    let said = restore(state.path());
    assert!(said.contains("sched_rt_runtime_us = 951001") && said.contains("trace instance"), "{said}");
    assert_eq!(runtime(), "951001");
    assert_eq!(instances_of(pid), Vec::<String>::new());
    let again = restore(state.path());
    assert!(!again.contains(" = "), "nothing is left: {again}");
}

#[test]
fn the_next_run_repairs_what_a_killed_one_left() {
    require!(Root);
    let _machine = Machine::alone();
    let _odd = OddRuntime::set();
    let state = tempfile::tempdir().unwrap();
    let mut meter = Meter::start(&with_changed_runtime(short(30_000)), state.path());
    meter.read_until(RunPhase::Measure);
    meter.signal(Signal::KILL);
    meter.finish();
    let finished = Meter::start(&short(50), state.path()).finish();
    assert!(finished.problems(Severity::Notice).iter().any(|problem| problem.contains("killed meter")));
    assert_eq!(runtime(), "951001");
}

#[test]
fn a_signal_or_a_lost_link_ends_the_run_and_restores() {
    require!(Root);
    let _machine = Machine::alone();
    let _odd = OddRuntime::set();
    type Hit = fn(&mut Meter);
    let cases: [(&str, Hit, Ending); 4] = [
        ("SIGINT", |meter| meter.signal(Signal::INT), Ending::Stopped),
        ("SIGTERM", |meter| meter.signal(Signal::TERM), Ending::Stopped),
        (
            "stop line",
            |meter| std::io::Write::write_all(meter.input.as_mut().unwrap(), b"stop\n").unwrap(),
            Ending::Stopped,
        ),
        ("end of input", |meter| drop(meter.input.take()), Ending::LinkLost),
    ];
    for (name, hit, ending) in cases {
        let state = tempfile::tempdir().unwrap();
        let mut meter = Meter::start(&with_changed_runtime(traced(30_000)), state.path());
        let pid = meter.child.id();
        meter.read_until_measured();
        hit(&mut meter);
        let finished = meter.finish();
        assert_eq!(finished.ending(), Some(ending), "{name}");
        assert!(finished.totals().iter().all(|totals| totals.cycles > 0), "{name}: what was measured is sent");
        assert_eq!(runtime(), "951001", "{name}");
        assert_eq!(instances_of(pid), Vec::<String>::new(), "{name}");
        assert_eq!(fs::read_dir(state.path().join("journal")).unwrap().count(), 0, "{name}: no journal is left");
    }
}

#[test]
fn a_host_that_vanishes_with_its_pipe_restores_too() {
    require!(Root);
    let _machine = Machine::alone();
    let _odd = OddRuntime::set();
    let state = tempfile::tempdir().unwrap();
    let settings = serde_json::to_string(&with_changed_runtime(short(30_000))).unwrap();
    // `head` closes the pipe after a few bytes while the input stays open: the meter detects it when writing.
    let script = format!(
        "(echo '{settings}'; sleep 25) | {} measure | head -c 5000 > /dev/null",
        env!("CARGO_BIN_EXE_tardy-meter")
    );
    let mut shell = Command::new("sh")
        .args(["-c", &script])
        .env("TARDY_STATE_DIR", state.path())
        .stdout(Stdio::null())
        .process_group(0)
        .spawn()
        .unwrap();
    let changed = eventually(|| runtime() == "960000");
    let restored = eventually(|| runtime() == "951001");
    // The one that keeps the input open, too.
    let _ = kill_process_group(Pid::from_child(&shell), Signal::KILL);
    let _ = shell.wait();
    assert!(changed && restored);
}

/// Whether the condition becomes true within 20 seconds.
fn eventually(condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    loop {
        if condition() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_stop_of_200_ms_shows_as_a_spike_and_as_missed_periods() {
    let state = tempfile::tempdir().unwrap();
    let policy = if is_root() { archive::settings::Policy::Fifo } else { archive::settings::Policy::Other };
    // Long enough that the stop ends before the run, however late this process sees that the meter measures.
    let mut meter = Meter::start(&RunSettings { policy, ..short(6000) }, state.path());
    meter.read_until_measured();
    meter.signal(Signal::STOP);
    // This is the stop itself, not a wait for something.
    std::thread::sleep(Duration::from_millis(200));
    meter.signal(Signal::CONT);
    for totals in meter.finish().totals() {
        assert!(totals.latency_ns_max.unwrap() >= 195_000_000, "{totals:?}");
        assert!(totals.missed_periods >= 195, "{totals:?}");
        assert_eq!(totals.cycles + totals.missed_periods, 6000, "every period is a sample or counted as missed");
    }
}

/// Thread numbers of the measuring threads of a process, by their CPU.
fn measuring_threads(pid: u32) -> Vec<(u32, rustix::process::Pid)> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).unwrap().flatten();
    let threads = tasks.filter_map(|task| {
        let name = fs::read_to_string(task.path().join("comm")).ok()?;
        let cpu = name.trim().strip_prefix("tardy-cpu")?.parse().ok()?;
        Some((cpu, rustix::process::Pid::from_raw(task.file_name().to_str()?.parse().ok()?)?))
    });
    threads.collect()
}

#[test]
fn a_measuring_thread_that_another_program_moves_makes_the_run_invalid() {
    let cpus = std::thread::available_parallelism().map_or(1, |count| count.get());
    require!(Prepared("a second CPU", cpus > 1));
    let state = tempfile::tempdir().unwrap();
    let settings = RunSettings { cpus: Some(vec![0]), policy: archive::settings::Policy::Other, ..short(3000) };
    let mut meter = Meter::start(&settings, state.path());
    meter.read_until_measured();
    let threads = measuring_threads(meter.child.id());
    let &[(0, tid)] = &threads[..] else { panic!("{threads:?}") };
    let mut elsewhere = rustix::thread::CpuSet::new();
    elsewhere.set(1);
    rustix::thread::sched_setaffinity(Some(tid), &elsewhere).unwrap();
    let problems = meter.finish().problems(Severity::Invalid).join("\n");
    for expected in ["the measuring thread of CPU 0 is no longer bound to it", "it may run on CPUs [1]"] {
        assert!(problems.contains(expected), "{problems}");
    }
}

#[test]
fn a_stop_waits_for_threads_that_sleep_for_their_interval() {
    let state = tempfile::tempdir().unwrap();
    let policy = if is_root() { archive::settings::Policy::Fifo } else { archive::settings::Policy::Other };
    // Longer than a thread has to notice a stop request.
    let settings = RunSettings { interval_ns: 8_000_000_000, duration_ns: None, policy, ..short(0) };
    let mut meter = Meter::start(&settings, state.path());
    meter.read_until_measured();
    meter.signal(Signal::INT);
    let finished = meter.finish();
    assert_eq!(finished.ending(), Some(Ending::Stopped), "{:?}", finished.problems(Severity::Notice));
}

#[test]
fn another_tracer_is_refused_by_name_unless_it_is_accepted() {
    require!(Root, Tracefs);
    let _machine = Machine::alone();
    let foreign = format!("/sys/kernel/tracing/instances/foreign-{}", std::process::id());
    fs::create_dir(&foreign).unwrap();
    fs::write(format!("{foreign}/events/sched/sched_wakeup/enable"), "1").unwrap();
    let state = tempfile::tempdir().unwrap();
    let refused = Meter::start(&traced(100), state.path()).finish();
    let mut beside = traced(100);
    beside.trace.beside_others = true;
    let allowed = Meter::start(&beside, state.path()).finish();
    fs::remove_dir(&foreign).unwrap();
    assert_eq!(refused.ending(), Some(Ending::Failed));
    assert_eq!(refused.status.code(), Some(3));
    let problem = refused.problems(Severity::Invalid).join("\n");
    assert!(
        problem.contains("sched_wakeup") && problem.contains("foreign-") && problem.contains("--beside-others"),
        "{problem}"
    );
    assert_eq!(allowed.ending(), Some(Ending::Complete));
    assert!(allowed.problems(Severity::Degraded).iter().any(|problem| problem.starts_with("[meter.traced-beside]")));
}

#[test]
fn a_missing_or_read_only_tracefs_is_named_and_the_numbers_stand() {
    require!(Root);
    let hide = |how: &str| {
        let script = format!("{how} && exec {} \"$@\"", env!("CARGO_BIN_EXE_tardy-meter"));
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", &script, "sh"]);
        command
    };
    let state = tempfile::tempdir().unwrap();
    let empty = "mount -t tmpfs none /sys/kernel && mkdir -p /sys/kernel/debug";
    let finished = Meter::start_as(hide(empty), &traced(100), state.path()).finish();
    let problems = finished.problems(Severity::Degraded).join("\n");
    assert_eq!(finished.ending(), Some(Ending::Complete), "{problems}");
    assert!(problems.contains("mount -t tracefs"), "{problems}");

    let read_only = "(mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing) && mount -o remount,bind,ro /sys/kernel/tracing";
    let finished = Meter::start_as(hide(read_only), &traced(100), state.path()).finish();
    let problems = finished.problems(Severity::Degraded).join("\n");
    assert_eq!(finished.ending(), Some(Ending::Complete), "{problems}");
    assert!(problems.contains("read-only"), "{problems}");
}

#[test]
fn a_load_that_dies_makes_the_run_invalid() {
    let state = tempfile::tempdir().unwrap();
    let policy = if is_root() { archive::settings::Policy::Fifo } else { archive::settings::Policy::Other };
    let loads = vec![LoadRequest::Command { line: "sleep 0.3; exit 7".into(), once: false }];
    let finished = Meter::start(&RunSettings { loads, policy, ..short(3000) }, state.path()).finish();
    let problems = finished.problems(Severity::Invalid).join("\n");
    assert!(problems.contains("sleep 0.3; exit 7"), "{problems}");
    let reports: Vec<&LoadReport> = finished
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::Loads(reports) => reports.last(),
            _ => None,
        })
        .collect();
    assert!(reports.last().is_some_and(|report| !report.alive));
}

#[test]
fn an_unknown_load_fails_before_anything_is_measured() {
    let state = tempfile::tempdir().unwrap();
    let loads = vec![LoadRequest::Builtin { name: "nonsense".into(), workers: 0 }];
    let finished = Meter::start(&RunSettings { loads, ..short(100) }, state.path()).finish();
    assert_eq!(finished.ending(), Some(Ending::Failed));
    assert!(finished.problems(Severity::Invalid).join("\n").contains("messaging"), "the known ones are listed");
}

#[test]
fn trace_buffers_of_another_size_than_requested_are_reported() {
    require!(Root, Tracefs);
    let _machine = Machine::alone();
    let state = tempfile::tempdir().unwrap();
    let mut settings = traced(100);
    settings.trace.buffer_kb_per_cpu = 5;
    let finished = Meter::start(&settings, state.path()).finish();
    let problems = finished.problems(Severity::Notice).join("\n");
    assert!(problems.contains("64 kB per CPU, not 5"), "{problems}");
}

#[test]
fn small_buffers_under_load_show_what_they_overwrote_and_the_largest_spike_stays() {
    require!(Root);
    let _machine = Machine::alone();
    let state = tempfile::tempdir().unwrap();
    let mut settings = traced(2500);
    settings.trace.buffer_kb_per_cpu = 64;
    settings.trace.snapshots_max = 2;
    settings.loads = vec![LoadRequest::Builtin { name: "messaging".into(), workers: 1 }];
    let finished = Meter::start(&settings, state.path()).finish();
    assert_eq!(finished.ending(), Some(Ending::Complete), "{:?}", finished.problems(Severity::Notice));
    let dropped: Vec<u32> = finished
        .messages
        .iter()
        .filter_map(|message| match message {
            Message::SpikeDropped { number, .. } => Some(*number),
            _ => None,
        })
        .collect();
    let kept: Vec<_> = finished.spikes().into_iter().filter(|spike| !dropped.contains(&spike.number)).collect();
    let ordinary = kept.iter().filter(|spike| spike.reason == SpikeReason::Control).count();
    assert!(kept.len() - ordinary <= 2, "{} kept", kept.len());
    let snapshots = || kept.iter().filter_map(|spike| spike.snapshot.as_ref());
    assert!(snapshots().any(|snapshot| snapshot.coverage.iter().any(|coverage| coverage.overwritten > 0)));
    let worst = finished.totals().iter().filter_map(|totals| totals.latency_ns_max).max();
    assert_eq!(kept.iter().map(|spike| spike.sample.latency_ns).max(), worst, "the largest spike of the run was kept");
}
