//! Wires between two roles that are cut during a run or were never plugged, and a stimulus machine that is killed.

use crate::roles_live::Cable;
use archive::loss::LossKind;
use archive::reader::{Run, ThreadRun};
use archive::summary::RunSummary;
use fixtures::fake_meter::{Ended, manifest_of};
use fixtures::programs::real_meter;
use fixtures::waiting::wait_until;
use prerequisites::Prerequisite::{Prepared, Program};
use prerequisites::met;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// An answer that takes longer counts as none.
const LOST_NS: i64 = 1_000_000_000;

/// A measurement with two roles on this machine, in a directory of its own.
struct Measurement {
    folder: tempfile::TempDir,
    child: Child,
}

impl Measurement {
    fn start(meter: &Path, target: &str, stimulus: &str, seconds: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(["run", "--method", target, "--stimulus", stimulus, "-D", seconds, "-i", "10ms"]);
        command.args(["--settle", "100ms", "--trace", "off", "--out", "here"]).current_dir(folder.path());
        command.env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.path().join("state"));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { folder, child }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns when the stimulus machine has measured for a while.
    fn wait_for_samples(&self) {
        let has_second = |thread: &ThreadRun| thread.seconds.iter().any(|second| second.cycles > 0);
        wait_until("the stimulus machine measures for a second", || {
            Run::open(self.path("here/stimulus")).is_ok_and(|run| run.threads.values().any(has_second))
        });
    }

    fn end(self) -> Measured {
        let ended = Ended::of(self.child.wait_with_output().unwrap());
        let summary = |name: &str| {
            let path = self.folder.path().join(name);
            let run = Run::open(&path).unwrap_or_else(|why| panic!("{name}: {why}; {}{}", ended.stdout, ended.stderr));
            RunSummary::of(&run, &[])
        };
        let (target, stimulus) = (summary("here"), summary("here/stimulus"));
        Measured { target, stimulus, ended, folder: self.folder }
    }
}

/// The rest of a measurement.
struct Measured {
    ended: Ended,
    target: RunSummary,
    stimulus: RunSummary,
    folder: tempfile::TempDir,
}

impl Measured {
    fn said(&self) -> String {
        self.ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn code_of(&self, name: &str) -> String {
        let manifest = manifest_of(&self.folder.path().join(name));
        manifest["problem"]["code"].as_str().unwrap_or_default().to_owned()
    }
}

fn samples(summary: &RunSummary) -> u64 {
    summary.cpus.iter().map(|cpu| cpu.cycles).sum()
}

fn unanswered(summary: &RunSummary) -> u64 {
    summary.losses.iter().filter(|loss| loss.kind == LossKind::Answers).map(|loss| loss.count).sum()
}

fn laid() -> Option<(PathBuf, Cable)> {
    let meter = real_meter().filter(|_| met(&[Program("ip")]))?;
    let cable = Cable::lay();
    met(&[Prepared("veth interfaces", cable.is_some())]);
    Some((meter, cable?))
}

/// The run ended as planned; what came until the cut is measured, and what did not come is no delay.
fn is_cut(measured: &Measured) {
    let Measured { stimulus, target, ended, .. } = measured;
    assert!(samples(stimulus) > 0 && samples(target) >= samples(stimulus), "{}", ended.stdout);
    assert!(unanswered(stimulus) > 0, "{}", ended.stdout);
    assert!(stimulus.all_cpus.max.is_some_and(|most| most < LOST_NS), "{:?}", stimulus.all_cpus.max);
    assert!(measured.said().contains(" within 1 s: "), "{}", ended.stdout);
    assert_eq!((measured.code_of("here"), measured.code_of("here/stimulus")), (String::new(), String::new()));
}

#[test]
fn a_cable_that_is_cut_during_a_run_is_no_signal() {
    let Some((meter, cable)) = laid() else { return };
    let (target, stimulus) = (format!("ethernet:interface={}", cable.far), format!("local:interface={}", cable.near));
    let measurement = Measurement::start(&meter, &target, &stimulus, "5s");
    measurement.wait_for_samples();
    cable.cut();
    is_cut(&measurement.end());
}

#[test]
fn an_interface_that_vanishes_during_a_run_ends_it_with_what_was_measured() {
    let Some((meter, cable)) = laid() else { return };
    let (target, stimulus) = (format!("ethernet:interface={}", cable.far), format!("local:interface={}", cable.near));
    let measurement = Measurement::start(&meter, &target, &stimulus, "5s");
    measurement.wait_for_samples();
    drop(cable);
    let measured = measurement.end();
    assert!(samples(&measured.stimulus) > 0 && unanswered(&measured.stimulus) > 0, "{}", measured.ended.stdout);
    assert!(measured.stimulus.all_cpus.max.is_some_and(|most| most < LOST_NS), "{}", measured.ended.stdout);
}

#[test]
fn cables_that_lead_elsewhere_are_no_signal_on_both_machines() {
    let Some((meter, one)) = laid() else { return };
    let Some(other) = Cable::lay() else { return };
    let (target, stimulus) = (format!("ethernet:interface={}", one.far), format!("local:interface={}", other.near));
    let measured = Measurement::start(&meter, &target, &stimulus, "2s").end();
    assert_eq!(measured.ended.code, Some(3), "{}", measured.ended.stdout);
    for summary in [&measured.target, &measured.stimulus] {
        assert_eq!((samples(summary), summary.valid), (0, false));
        assert!(unanswered(summary) > 0, "{:?}", summary.losses);
    }
    assert!(measured.said().contains("no signal"), "{}", measured.ended.stdout);
}

/// Whether an interface is set up.
fn is_up(name: &str) -> bool {
    let text = fs::read_to_string(format!("/sys/class/net/{name}/flags")).unwrap();
    u32::from_str_radix(text.trim().trim_start_matches("0x"), 16).unwrap() & 1 == 1
}

/// Processes whose parent is this one, with a thread whose name begins so.
fn child_with_thread(parent: u32, thread: &str) -> Option<String> {
    let tasks = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    tasks.filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit())).find(|pid| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
        status.lines().any(|line| line.split_whitespace().eq(["PPid:", &parent.to_string()]))
            && threads
                .into_iter()
                .any(|entry| fs::read_to_string(entry.path().join("comm")).is_ok_and(|name| name.starts_with(thread)))
    })
}

#[test]
fn a_stimulus_machine_that_is_killed_ends_both_and_its_interface_is_put_back() {
    let Some((meter, cable)) = laid() else { return };
    cable.set_down();
    let target = format!("ethernet:interface={},up", cable.far);
    let stimulus = format!("local:interface={},up", cable.near);
    let measurement = Measurement::start(&meter, &target, &stimulus, "60s");
    measurement.wait_for_samples();
    assert!(is_up(&cable.near) && is_up(&cable.far));
    let killed = child_with_thread(measurement.child.id(), "tardy-stim").expect("a meter that gives stimuli");
    assert!(Command::new("kill").args(["-KILL", &killed]).status().unwrap().success());
    let measured = measurement.end();
    assert_eq!(measured.ended.code, Some(3), "{}", measured.ended.stdout);
    assert_eq!(measured.code_of("here"), "role.ended-early");
    assert!(samples(&measured.target) > 0 && samples(&measured.stimulus) > 0, "{}", measured.ended.stdout);
    assert!(measured.said().contains("ended early"), "{}", measured.ended.stdout);
    assert!(!is_up(&cable.near) && !is_up(&cable.far), "both interfaces are down again");
}

/// A serial line between two sockets, which can be cut.
struct SerialLine {
    folder: tempfile::TempDir,
    is_cut: Arc<AtomicBool>,
    closes: Arc<AtomicBool>,
    bridge: JoinHandle<()>,
}

impl SerialLine {
    fn lay() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listeners = ["target", "logger"].map(|name| UnixListener::bind(folder.path().join(name)).unwrap());
        let (is_cut, closes) = (Arc::<AtomicBool>::default(), Arc::<AtomicBool>::default());
        let (cut, close) = (is_cut.clone(), closes.clone());
        let bridge = thread::spawn(move || {
            let [target, logger] = listeners.map(|listener| listener.accept().unwrap().0);
            let pass = |mut from: UnixStream, mut to: UnixStream| {
                from.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
                let mut byte = [0];
                while !close.load(Relaxed) {
                    match from.read(&mut byte) {
                        Ok(0) => return,
                        Ok(_) if cut.load(Relaxed) => {}
                        Ok(_) => to.write_all(&byte).unwrap_or_default(),
                        Err(_) => {}
                    }
                }
                let _ = (from.shutdown(std::net::Shutdown::Both), to.shutdown(std::net::Shutdown::Both));
            };
            thread::scope(|scope| {
                let (near, far) = (logger.try_clone().unwrap(), target.try_clone().unwrap());
                scope.spawn(|| pass(near, far));
                pass(target, logger);
            });
        });
        Self { folder, is_cut, closes, bridge }
    }

    fn start(&self, meter: &Path, seconds: &str) -> Measurement {
        let port = |name: &str| self.folder.path().join(name).display().to_string();
        let (target, stimulus) = (format!("serial:port={}", port("target")), format!("local:port={}", port("logger")));
        Measurement::start(meter, &target, &stimulus, seconds)
    }
}

#[test]
fn a_serial_line_that_is_cut_during_a_run_is_no_signal() {
    let Some(meter) = real_meter() else { return };
    let line = SerialLine::lay();
    let measurement = line.start(&meter, "5s");
    measurement.wait_for_samples();
    line.is_cut.store(true, Relaxed);
    is_cut(&measurement.end());
    line.bridge.join().unwrap();
}

#[test]
fn a_serial_line_that_was_never_plugged_is_no_signal_on_both_machines() {
    let Some(meter) = real_meter() else { return };
    let line = SerialLine::lay();
    line.is_cut.store(true, Relaxed);
    let measured = line.start(&meter, "2s").end();
    assert_eq!(measured.ended.code, Some(3), "{}", measured.ended.stdout);
    for summary in [&measured.target, &measured.stimulus] {
        assert_eq!((samples(summary), summary.valid), (0, false));
        assert!(unanswered(summary) > 0, "{:?}", summary.losses);
    }
    line.bridge.join().unwrap();
}

#[test]
fn a_port_that_disappears_during_a_run_ends_both_with_what_was_measured() {
    let Some(meter) = real_meter() else { return };
    let line = SerialLine::lay();
    let measurement = line.start(&meter, "60s");
    measurement.wait_for_samples();
    line.closes.store(true, Relaxed);
    let measured = measurement.end();
    assert_eq!(measured.ended.code, Some(3), "{}", measured.ended.stdout);
    assert!(samples(&measured.target) > 0 && samples(&measured.stimulus) > 0, "{}", measured.ended.stdout);
    assert!(measured.stimulus.all_cpus.max.is_some_and(|most| most < LOST_NS), "{:?}", measured.stimulus.all_cpus.max);
    line.bridge.join().unwrap();
}
