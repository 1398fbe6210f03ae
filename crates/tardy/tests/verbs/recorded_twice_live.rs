//! One wake-up in two recordings: of `tardy watch`, and of `trace-cmd record` beside it.

use crate::watch_live::program;
use archive::reader::Run;
use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use fixtures::waiting::wait_until;
use prerequisites::Prerequisite::{Kernel, Program, Tracefs};
use prerequisites::{met, tracefs};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// On a busy machine the host may keep the CPU at most wake-ups that the hog delays.
const ATTEMPTS: usize = 3;
/// Wake-ups that both recordings have.
const PAIRS_MIN: usize = 3;
/// The kernel writes an event to one trace buffer after the other, and each write takes its own time stamp.
const APART_NS: i64 = 1_000;
/// Recorded by `tardy` alone: the return from the system call in which the thread slept.
const RETURN: &str = "return_to_user";

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A recorder with an instance of its own.
struct TraceCmd {
    process: Running,
    instance: PathBuf,
    file: PathBuf,
}

impl TraceCmd {
    /// Records into a file of a folder; `None` if this machine does not let it.
    fn start(folder: &Path) -> Option<Self> {
        let name = format!("recorded-twice-{}", std::process::id());
        let instance = tracefs()?.join("instances").join(&name);
        fs::create_dir(&instance).ok()?;
        // trace-cmd empties filters that are empty already; a container may refuse that, so it gets copies in a mount namespace of its own.
        let script = r#"
            folder=$1; instance=$2; shift 2
            for file in /proc/sys/kernel/ftrace_enabled "$instance"/set_ftrace_filter "$instance"/set_ftrace_notrace \
                "$instance"/set_ftrace_pid "$instance"/../../set_ftrace_filter "$instance"/../../set_ftrace_notrace \
                "$instance"/../../set_ftrace_pid; do
                [ -e "$file" ] || continue
                copies=$((${copies:-0} + 1))
                : > "$folder/copy-$copies"
                mount --bind "$folder/copy-$copies" "$file"
            done
            exec trace-cmd record "$@""#;
        let mut command = Command::new("unshare");
        command.args(["--mount", "sh", "-euc", script, "sh"]).arg(folder).arg(&instance);
        let events = ["sched", "irq", "irq_vectors", "timer"].into_iter().flat_map(|group| ["-e", group]);
        command.args(["-q", "-C", "mono", "-b", "20000", "-o", "both.dat", "-B", &name]).args(events);
        let output = fs::File::create(folder.join("trace-cmd.txt")).unwrap();
        command.current_dir(folder).stdin(Stdio::null()).stderr(output.try_clone().unwrap()).stdout(output);
        let process = Running(command.spawn().unwrap());
        let mut recorder = Self { process, instance, file: folder.join("both.dat") };
        wait_until("trace-cmd neither recorded nor ended", || recorder.records() || recorder.has_ended());
        (!recorder.has_ended()).then_some(recorder)
    }

    fn records(&self) -> bool {
        let on = |file: &str| fs::read_to_string(self.instance.join(file)).is_ok_and(|text| text.trim() == "1");
        // The last group that it enables.
        on("events/timer/enable") && on("tracing_on")
    }

    fn has_ended(&mut self) -> bool {
        self.process.0.try_wait().unwrap().is_some()
    }

    /// Ends it, and returns its file.
    fn finish(mut self) -> PathBuf {
        self.interrupt();
        self.file.clone()
    }

    /// As a user does: only then it ends its processes of each CPU.
    fn interrupt(&mut self) {
        if !self.has_ended() {
            let interrupted = Command::new("kill").args(["-INT", &self.process.0.id().to_string()]).status();
            assert!(interrupted.is_ok_and(|status| status.success()));
            wait_until("trace-cmd does not end", || self.has_ended());
        }
    }
}

impl Drop for TraceCmd {
    fn drop(&mut self) {
        self.interrupt();
        wait_until("the instance stays in use", || fs::remove_dir(&self.instance).is_ok() || !self.instance.exists());
    }
}

fn tardy(folder: &TempDir, meter: &Path, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(words).current_dir(folder.path());
    command.env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.path().join("state"));
    Ended::of(command.output().unwrap())
}

fn explain(folder: &TempDir, meter: &Path, words: &[&str]) -> Ended {
    let ended = tardy(folder, meter, &[&["explain"], words].concat());
    assert_eq!(ended.code, Some(0), "{words:?}: {} {}", ended.stdout, ended.stderr);
    ended
}

/// How a wake-up was explained.
#[derive(Debug)]
struct Explained {
    culprit: String,
    sentence: String,
    /// By phase and owner, in ns.
    ledger: BTreeMap<(String, String), i64>,
}

/// The wake-ups of an archive by the instant at which each was due.
fn explained(folder: &TempDir, meter: &Path, archive: &str) -> BTreeMap<i64, Explained> {
    let due: BTreeMap<u64, i64> = Run::open(folder.path().join(archive))
        .unwrap()
        .spikes
        .iter()
        .map(|spike| (u64::from(spike.number), spike.sample.due_ns))
        .collect();
    let document = explain(folder, meter, &[archive, "--json"]).json();
    let list = |value: &serde_json::Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    let of = |spike: &serde_json::Value| {
        let mut ledger = BTreeMap::new();
        for phase in list(&spike["phases"]).iter().filter(|phase| phase["name"] != RETURN) {
            for owner in list(&phase["owners"]) {
                *ledger.entry((text(&phase["name"]), text(&owner["name"]))).or_default() +=
                    owner["ns"].as_i64().unwrap();
            }
        }
        let first = &spike["findings"][0];
        let (culprit, sentence) = (text(&first["culprit"]), text(&first["sentence"]));
        (due[&spike["spike"].as_u64().unwrap()], Explained { culprit, sentence, ledger })
    };
    list(&document["spikes"]).iter().map(of).collect()
}

/// The largest difference between entries of two ledgers.
fn apart_ns(ours: &Explained, theirs: &Explained) -> i64 {
    let entry = |of: &Explained, key: &(String, String)| of.ledger.get(key).copied().unwrap_or(0);
    let keys = ours.ledger.keys().chain(theirs.ledger.keys());
    keys.map(|key| (entry(ours, key) - entry(theirs, key)).abs()).max().unwrap_or(0)
}

#[test]
fn a_wake_up_that_trace_cmd_recorded_too_has_the_same_culprit_and_the_same_ledger() {
    let needed = [Tracefs, Program("cc"), Program("unshare"), Program("trace-cmd"), Program("kill")];
    let Some(meter) = real_meter().filter(|_| met(&needed)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let (periods, hog) = (program(&folder, "periods").display().to_string(), program(&folder, "hog"));
    let _hog = Running(Command::new(hog).args(["0", "4000", "200000"]).spawn().unwrap());
    let mut last = String::new();
    for attempt in 0..ATTEMPTS {
        let recorder = TraceCmd::start(folder.path());
        if !met(&[Kernel("a kernel that lets trace-cmd record", recorder.is_some())]) {
            return;
        }
        let [ours, theirs] = ["ours", "theirs"].map(|whose| format!("{whose}-{attempt}"));
        let words = ["watch", "--beside-others", "--limit", "500us", "--out", &ours, "--", &periods, "0", "2000"];
        // Its exit code says that the limit was exceeded, and on a loaded machine that events of other wake-ups were lost.
        tardy(&folder, &meter, &words);
        let file = recorder.unwrap().finish().display().to_string();
        let explained_file = tardy(&folder, &meter, &["explain", &file, "--comm", "periods", "--out", &theirs]);
        // On a busy machine trace-cmd loses most events behind the hog.
        if explained_file.code != Some(0) {
            last = explained_file.stderr;
            continue;
        }
        let [ours, theirs] = [ours, theirs].map(|archive| explained(&folder, &meter, &archive));
        let by_hog = ours.iter().filter(|(_, one)| one.culprit == "other-rt-task" && one.sentence.contains("hog-"));
        let mut apart = Vec::new();
        for (ours, theirs) in by_hog.filter_map(|(due_ns, ours)| Some((ours, theirs.get(due_ns)?))) {
            assert_eq!((&ours.culprit, whose(ours)), (&theirs.culprit, whose(theirs)), "{ours:?} {theirs:?}");
            apart.push(apart_ns(ours, theirs));
        }
        apart.sort_unstable();
        // The host may take the CPU between the two time stamps of one event.
        if apart.len() >= PAIRS_MIN && apart[apart.len() / 2] <= APART_NS {
            return;
        }
        last = format!("{apart:?}, of {ours:#?} and {theirs:#?}");
    }
    panic!("no {PAIRS_MIN} wake-ups with the same ledger in {ATTEMPTS} attempts; the last one: {last}");
}

/// The thread that a sentence begins with.
fn whose(explained: &Explained) -> &str {
    explained.sentence.split(' ').next().unwrap_or_default()
}
