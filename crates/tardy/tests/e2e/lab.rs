//! Code that the tests share: a directory with a virtual machine as its target, and its processes.

use archive::explanation::Explanation;
use archive::manifest::RunState;
use archive::reader::Run;
use machines::KnownTarget;
use machines::meter_places::MeterPlaces;
use machines::qemu::{QemuTarget, kernel};
use machines::stop::StopRequests;
use machines::target_file::TargetFiles;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The kernel of tests that do not depend on the workload.
pub const KERNEL: &str = "debian:6.1-rt";
/// A machine whose kernel patches its functions: with a thread for each CPU, one CPU of QEMU can still execute what another
/// has changed, and the kernel panics.
pub const ONE_THREAD: &[&str] = &["--accel", "tcg-single"];
/// QEMU has started all its threads by then.
const FIRST_THREADS: Duration = Duration::from_secs(6);
const PATIENCE: Duration = Duration::from_secs(120);

/// A directory with its own target `vm`; kernels come from the user's cache.
pub struct Lab(TempDir);

impl Lab {
    /// A machine with this kernel, in the format of `tardy target add`, and further options of that verb.
    pub fn with(kernel: &str, options: &[&str]) -> Self {
        let mut words = vec!["--kernel", kernel];
        words.extend(options);
        if !options.contains(&"--accel") {
            words.extend(["--accel", "tcg"]);
        }
        Self::of_words(|_| words.iter().map(|word| (*word).to_owned()).collect())
    }

    /// A machine with options of `tardy target add` that can name the directory of the lab.
    pub fn of_words(words: impl FnOnce(&Path) -> Vec<String>) -> Self {
        let lab = Self(tempfile::tempdir().unwrap());
        let words = words(lab.0.path());
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let added = lab.tardy(&[&["target", "add", "vm", "--here"], &words[..]].concat()).output().unwrap();
        assert!(added.status.success(), "{}", String::from_utf8_lossy(&added.stderr));
        lab
    }

    /// A path in the lab's directory, which is the current directory of all its processes.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// One of `tests/programs`, linked statically.
    pub fn program(&self, name: &str) -> PathBuf {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).with_extension("c");
        let binary = self.path(name);
        let compiled = Command::new("cc").args(["-O1", "-pthread", "-static", "-o"]).arg(&binary).arg(source).status();
        assert!(compiled.is_ok_and(|status| status.success()), "cc is needed: apt install gcc libc6-dev");
        binary
    }

    /// `tardy` with these words, not yet started.
    pub fn tardy(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.args(words).current_dir(self.0.path());
        command
    }

    /// Starts a verb that measures on the machine and writes the archive `run`: `run`, or another verb with the same
    /// two options.
    pub fn begin_verb(&self, verb: &str, words: &[&str]) -> Child {
        let mut all = vec![verb, "--target", "vm", "--out", "run"];
        all.extend(words);
        self.tardy(&all).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    pub fn begin(&self, words: &[&str]) -> Child {
        self.begin_verb("run", words)
    }

    pub fn run(&self, words: &[&str]) -> Output {
        self.begin(words).wait_with_output().unwrap()
    }

    /// Runs a verb to its end, which must be successful; returns its archive, which must be complete, and its output.
    pub fn measured(&self, verb: &str, words: &[&str]) -> (Run, String) {
        self.ended_well(self.begin_verb(verb, words), words)
    }

    /// The same, and nothing of the host delays the machine but what has a real-time priority: the
    /// latencies of an emulated machine are otherwise those of its host. Needs root; without, it is as busy as the host.
    pub fn measured_in_front(&self, verb: &str, words: &[&str]) -> (Run, String) {
        let child = self.begin_verb(verb, words);
        put_machine_in_front(child.id() as i32);
        self.ended_well(child, words)
    }

    /// The archive and the output of a run that must end well and be complete.
    pub fn ended_well(&self, child: Child, words: &[&str]) -> (Run, String) {
        let ended = child.wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(ended.status.success(), "{words:?}: {said}{}", String::from_utf8_lossy(&ended.stderr));
        let run = self.archive();
        assert!(run.gaps.is_empty(), "{words:?}: {:?}", run.gaps);
        assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete, "{words:?}");
        // A kernel without complaints prints nothing: then there is no such file.
        let console = fs::read_to_string(self.path("run/console.log")).unwrap_or_default();
        assert!(!console.contains("BUG:") && !console.contains("Kernel panic"), "{words:?}: {console}");
        (run, said)
    }

    /// The same, replacing the last archive.
    pub fn measured_again(&self, verb: &str, words: &[&str]) -> (Run, String) {
        fs::remove_dir_all(self.path("run")).unwrap();
        self.measured(verb, words)
    }

    /// The machine itself, for operations that tardy has no verb for.
    pub fn machine(&self) -> QemuTarget {
        let files = TargetFiles { here: self.path("targets"), own: None };
        let machine = KnownTarget::find_in(&files, "vm").unwrap().virtual_machine().unwrap().clone();
        let meter = MeterPlaces::of_process().find_for(machine.architecture).unwrap();
        QemuTarget::new("vm", machine, &meter, &kernel::cache().unwrap(), StopRequests::default())
    }

    /// The archive of the last run.
    pub fn archive(&self) -> Run {
        Run::open(self.path("run")).unwrap()
    }

    /// Begins a run and waits until it measures; returns it with its QEMU.
    pub fn measuring(&self, words: &[&str]) -> (Child, i32) {
        let child = self.begin(words);
        let begun = Instant::now();
        while !self.path("run/stream.tardy").is_file() || self.archive().threads.is_empty() {
            assert!(begun.elapsed() < PATIENCE, "it never measured");
            thread::sleep(Duration::from_millis(200));
        }
        let qemu = children(child.id() as i32).into_iter().find(|pid| name(*pid).starts_with("qemu-system"));
        (child, qemu.expect("a QEMU runs"))
    }

    /// A broken run: the archive opens, says why, and no process is left.
    pub fn assert_broken(&self, qemu: i32, reason: &str) {
        assert_gone(qemu);
        let run = self.archive();
        let manifest = run.manifest.as_ref().unwrap();
        assert_eq!(manifest.state, RunState::Failed);
        let problem = manifest.problem.clone().unwrap();
        assert!(problem.text.contains(reason), "{}", problem.text);
        assert!(!run.threads.is_empty(), "what was measured before is kept");
    }
}

/// Gives the QEMU of a process a real-time priority while it starts: round robin, so that each of several machines goes on.
pub fn put_machine_in_front(parent: i32) {
    let begun = Instant::now();
    // More than once, because QEMU starts threads.
    while begun.elapsed() < FIRST_THREADS {
        thread::sleep(Duration::from_millis(300));
        let qemu = children(parent).into_iter().find(|pid| name(*pid).starts_with("qemu-system"));
        if let Some(qemu) = qemu {
            let _ = Command::new("chrt").args(["-a", "-r", "-p", "1", &qemu.to_string()]).status();
        }
    }
}

/// Keeps the files of a failed test for analysis.
impl Drop for Lab {
    fn drop(&mut self) {
        if thread::panicking() {
            eprintln!("kept: {}", self.0.path().display());
            self.0.disable_cleanup(true);
        }
    }
}

pub fn children(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().filter_map(Result::ok);
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>()).collect()
}

pub fn name(pid: i32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default()
}

/// Command lines of all QEMUs; those of this test name a directory with the process id of their host.
pub fn machines() -> Vec<String> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let lines = processes.filter_map(|process| fs::read(process.path().join("cmdline")).ok());
    lines.map(|line| String::from_utf8_lossy(&line).into_owned()).filter(|line| line.contains("qemu")).collect()
}

/// Waits until a QEMU has ended.
pub fn assert_gone(pid: i32) {
    let begun = Instant::now();
    while name(pid).starts_with("qemu-system") {
        assert!(begun.elapsed() < PATIENCE, "QEMU {pid} is left");
        thread::sleep(Duration::from_millis(50));
    }
}

pub fn kill(signal: &str, pid: i32) {
    assert!(Command::new("kill").args([signal, &pid.to_string()]).status().unwrap().success());
}

/// Asserts that every ledger sums to its latency, and that there is one; returns the explanations.
pub fn assert_ledgers_add_up(run: &Run) -> Vec<Explanation> {
    let explanations = run.explanations().unwrap();
    assert_eq!(explanations.len(), run.spikes.len());
    for explanation in &explanations {
        let sum: i64 = explanation.phases.iter().flat_map(|phase| &phase.owners).map(|owner| owner.ns).sum();
        let counted = explanation.phases.is_empty() || sum == explanation.latency_ns;
        assert!(counted, "spike {} sums to {sum}, not {}", explanation.spike, explanation.latency_ns);
    }
    assert!(explanations.iter().any(|explanation| !explanation.phases.is_empty()), "no spike has a ledger");
    explanations
}

/// Whether this can be the name of a function in an account; for user space the kernel's tracer has no names.
pub fn is_function_name(name: &str) -> bool {
    let letter = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == '.';
    name == "user space" || !name.is_empty() && name.chars().all(letter)
}

pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
