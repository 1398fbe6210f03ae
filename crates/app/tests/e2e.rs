//! Real kernels in real virtual machines. `make e2e` runs these; they take minutes and download kernels once.

use archive::environment::Environment;
use archive::manifest::RunState;
use archive::reader::Run;
use archive::settings::SnapshotMode;
use archive::spike::SpikeReason;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Kernels the whole way is gone with; `TARDY_E2E_KERNELS="debian:6.1 debian:6.12-rt" make e2e` names others.
const KERNELS: &str = "TARDY_E2E_KERNELS";
const KERNELS_DEFAULT: &str = "debian:6.1-rt";
const PATIENCE: Duration = Duration::from_secs(120);

/// A directory with its own target files; kernels come from the person's cache.
struct Lab(TempDir);

impl Lab {
    fn with(kernel: &str, options: &[&str]) -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        let mut words = vec!["target", "add", "vm", "--kernel", kernel, "--accel", "tcg", "--here"];
        words.extend(options);
        let added = lab.tardy(&words).output().unwrap();
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        lab
    }

    fn tardy(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(words).current_dir(self.0.path());
        command
    }

    fn run(&self, words: &[&str]) -> Output {
        self.begin(words).wait_with_output().unwrap()
    }

    fn begin(&self, words: &[&str]) -> Child {
        let mut all = vec!["run", "--target", "vm", "--out", "run"];
        all.extend(words);
        self.tardy(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn archive(&self) -> Run {
        Run::open(self.0.path().join("run")).unwrap()
    }

    /// Begins a run and waits until it measures; answers it with its QEMU.
    fn measuring(&self, words: &[&str]) -> (Child, i32) {
        let child = self.begin(words);
        let begun = Instant::now();
        while !self.0.path().join("run/stream.tardy").is_file() || self.archive().threads.is_empty() {
            assert!(begun.elapsed() < PATIENCE, "it never measured");
            thread::sleep(Duration::from_millis(200));
        }
        let qemu = children(child.id() as i32).into_iter().find(|pid| name(*pid).starts_with("qemu-system"));
        (child, qemu.expect("a QEMU runs"))
    }

    /// A run that broke: the archive opens, says why, and nobody is left.
    fn assert_broken(&self, qemu: i32, reason: &str) {
        assert_gone(qemu);
        let run = self.archive();
        let manifest = run.manifest.as_ref().unwrap();
        assert_eq!(manifest.state, RunState::Failed);
        let problem = manifest.problem.clone().unwrap();
        assert!(problem.contains(reason), "{problem}");
        assert!(!run.threads.is_empty(), "what was measured before is kept");
    }
}

fn children(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().filter_map(Result::ok);
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect()
}

fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

/// Command lines of all QEMUs; ours name a directory with the number of their host.
fn machines() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).filter(|line| line.contains("qemu")).collect()
}

fn assert_gone(pid: i32) {
    let begun = Instant::now();
    while name(pid).starts_with("qemu-system") {
        assert!(begun.elapsed() < PATIENCE, "QEMU {pid} is left");
        thread::sleep(Duration::from_millis(50));
    }
}

fn kill(signal: &str, pid: i32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn spikes_of_a_loaded_kernel_are_caught_and_accounted_for() {
    let kernels = std::env::var(KERNELS).unwrap_or_else(|_| KERNELS_DEFAULT.into());
    for kernel in kernels.split_whitespace() {
        whole_way(kernel);
    }
}

fn whole_way(kernel: &str) {
    let lab = Lab::with(kernel, &[]);
    let ended = lab.run(&["--duration", "5s", "--load", "dentry"]);
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(ended.status.success(), "{kernel}: {said}{}", String::from_utf8_lossy(&ended.stderr));
    assert!(said.starts_with("EMULATED MACHINE"), "{kernel}: {said}");

    let run = lab.archive();
    assert!(run.gaps.is_empty(), "{kernel}: {:?}", run.gaps);
    let manifest = run.manifest.as_ref().unwrap();
    assert_eq!((manifest.state, manifest.emulated), (RunState::Complete, true), "{kernel}");
    let environment: &Environment = run.environment.as_ref().unwrap();
    let series = kernel.trim_start_matches("debian:");
    assert!(environment.kernel_release.starts_with(series.trim_end_matches("-rt")), "{kernel}: {environment:?}");
    assert_eq!(environment.preempt_rt, Some(series.ends_with("-rt")), "{kernel}");
    assert_eq!(environment.hostname, "vm", "{kernel}");
    assert_eq!(environment.virtualisation.as_deref(), Some("qemu"), "{kernel}");
    assert_eq!(run.effective.as_ref().unwrap().snapshot_mode, SnapshotMode::Trigger, "{kernel}");
    assert!(run.loads.iter().all(|load| load.alive && load.progress > 0), "{kernel}: {:?}", run.loads);

    let spikes = || run.spikes.iter().filter(|spike| spike.reason != SpikeReason::Control);
    let covered = spikes().filter(|spike| spike.snapshot.as_ref().is_some_and(|snapshot| snapshot.window_covered));
    assert!(covered.count() > 0, "{kernel}: no snapshot covers its spike");
    let explanations = run.explanations().unwrap();
    assert_eq!(explanations.len(), run.spikes.len(), "{kernel}");
    for explanation in &explanations {
        let sum: i64 = explanation.phases.iter().flat_map(|phase| &phase.owners).map(|owner| owner.ns).sum();
        let counted = explanation.phases.is_empty() || sum == explanation.latency_ns;
        assert!(counted, "{kernel}: spike {} sums to {sum}", explanation.spike);
    }
    let told = explanations.iter().filter(|explanation| !explanation.phases.is_empty()).count();
    assert!(told > 0, "{kernel}: no spike has a ledger");
    let console = text(&lab.0.path().join("run/console.log"));
    assert!(!console.contains("BUG:") && !console.contains("Kernel panic"), "{kernel}: {console}");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_limit_is_never_judged_on_an_emulated_machine() {
    let lab = Lab::with(KERNELS_DEFAULT, &[]);
    let ended = lab.run(&["--duration", "1s", "--limit", "10s"]);
    assert_eq!(ended.status.code(), Some(3), "{}", String::from_utf8_lossy(&ended.stdout));
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_machine_that_is_killed_ends_the_run() {
    let lab = Lab::with(KERNELS_DEFAULT, &[]);
    let (child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    kill("-KILL", qemu);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
    lab.assert_broken(qemu, "the machine went down");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_panic_in_the_guest_ends_the_run_and_is_quoted() {
    let lab = Lab::with(
        KERNELS_DEFAULT,
        &["--append", "unknown_nmi_panic", "--qemu-arg=-monitor", "--qemu-arg=unix:monitor,server=on,wait=off"],
    );
    let (child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    let mut monitor = std::os::unix::net::UnixStream::connect(lab.0.path().join("monitor")).unwrap();
    std::io::Write::write_all(&mut monitor, b"nmi\n").unwrap();
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(3));
    lab.assert_broken(qemu, "Kernel panic");
    assert!(text(&lab.0.path().join("run/console.log")).contains("Kernel panic"));
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_guest_whose_memory_is_full_ends_and_tells_of_it() {
    let lab = Lab::with(KERNELS_DEFAULT, &["--memory", "96"]);
    let child = lab.begin(&["--duration", "4s", "--load", "fault:64", "--trace", "off", "--quiet"]);
    let host = child.id() as i32;
    let ended = child.wait_with_output().unwrap();
    assert!(!machines().iter().any(|line| line.contains(&format!("tardy-vm-{host}-"))), "a machine is left");
    // What the kernel kills first is its choice; whatever it is, the archive tells.
    let run = lab.archive();
    let manifest = run.manifest.as_ref().unwrap();
    assert_ne!(manifest.state, RunState::Running);
    let console = fs::read_to_string(lab.0.path().join("run/console.log")).unwrap_or_default();
    let told = console.contains("Out of memory") || manifest.problem.is_some();
    assert!(told, "{manifest:?} {}", String::from_utf8_lossy(&ended.stderr));
    assert_eq!(ended.status.success(), manifest.problem.is_none() && archive::summary::RunSummary::of(&run, &[]).valid);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_host_that_is_killed_takes_its_machine_along() {
    let lab = Lab::with(KERNELS_DEFAULT, &[]);
    let (mut child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    kill("-KILL", child.id() as i32);
    child.wait().unwrap();
    assert_gone(qemu);
    assert_eq!(lab.archive().manifest.unwrap().state, RunState::Running);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_request_to_stop_keeps_what_there_is() {
    let lab = Lab::with(KERNELS_DEFAULT, &[]);
    let (child, qemu) = lab.measuring(&["--duration", "100s", "--quiet"]);
    assert!(machines().iter().any(|line| line.contains(&format!("tardy-vm-{}-", child.id()))));
    kill("-INT", child.id() as i32);
    assert_eq!(child.wait_with_output().unwrap().status.code(), Some(0));
    assert_gone(qemu);
    assert_eq!(lab.archive().manifest.unwrap().state, RunState::Interrupted);
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_kernel_without_a_first_process_is_a_failure_that_quotes_it() {
    let lab = Lab::with(KERNELS_DEFAULT, &["--append", "rdinit=/absent"]);
    let ended = lab.run(&["--duration", "1s"]);
    assert_eq!(ended.status.code(), Some(3));
    let run: PathBuf = lab.0.path().join("run");
    let problem = Run::open(&run).unwrap().manifest.unwrap().problem.unwrap();
    assert!(problem.contains("failed to boot") && problem.contains("Kernel panic"), "{problem}");
}
