//! `tardy guard` with the real meter on this machine and a program with planted misses.

use fixtures::programs::real_meter;
use fixtures::waiting::wait_until;
use prerequisites::Prerequisite::{Program, Root, Tracefs};
use prerequisites::met;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// Bytes of an account, without its line feed.
const ACCOUNT_BYTES_MAX: usize = 2047;

/// A guard with its folder, and the program with planted misses.
pub struct Guarded {
    pub folder: TempDir,
    meter: PathBuf,
    guard: Option<Child>,
    planted: Child,
}

impl Guarded {
    /// `None` where this machine cannot guard.
    fn with(kinds: &[&str]) -> Option<Self> {
        Self::configured(kinds, "")
    }

    /// With more tables of the configuration.
    pub fn configured(kinds: &[&str], tables: &str) -> Option<Self> {
        let mut guarded = Self::beside("planted", &[&["0", "4000"], kinds].concat())?;
        fs::write(guarded.folder.path().join("guard.toml"), tables).unwrap();
        guarded.start();
        Some(guarded)
    }

    /// A program of `tests/programs`, and no guard yet.
    fn beside(program: &str, words: &[&str]) -> Option<Self> {
        let meter = real_meter().filter(|_| met(&[Root, Tracefs, Program("cc")]))?;
        let folder = tempfile::tempdir().unwrap();
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/programs/{program}.c"));
        let program = folder.path().join(program);
        let compiled = Command::new("cc").args(["-O1", "-pthread", "-static", "-o"]).arg(&program).arg(source).status();
        assert!(compiled.unwrap().success());
        let planted = Command::new(&program).args(words).stdout(Stdio::null()).spawn().unwrap();
        Some(Self { folder, meter, guard: None, planted })
    }

    fn tardy(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        command.arg("guard").args(words).args(["--directory", "ring"]).current_dir(self.folder.path());
        command.env("TARDY_METER", &self.meter).env("TARDY_STATE_DIR", self.folder.path().join("state"));
        command
    }

    pub fn start(&mut self) {
        self.start_with(&["--config", "guard.toml", "--comm", "planted", "--limit", "2ms", "--cycle-limit", "4ms"]);
    }

    fn start_with(&mut self, words: &[&str]) {
        let log = fs::OpenOptions::new().create(true).append(true).open(self.folder.path().join("lines")).unwrap();
        self.guard = Some(self.tardy(words).stderr(log).spawn().unwrap());
    }

    /// Signals the guard and waits for its end. Returns whether it ended with success.
    pub fn end(&mut self, signal: Signal) -> bool {
        let mut guard = self.guard.take().unwrap();
        kill_process(Pid::from_child(&guard), signal).unwrap();
        guard.wait().unwrap().success()
    }

    pub fn entries(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("ring/accounts.jsonl")).unwrap_or_default();
        // The guard may be writing the last one.
        let text = &text[..text.rfind('\n').map_or(0, |at| at + 1)];
        let longest = text.lines().map(str::len).max().unwrap_or(0);
        assert!(longest <= ACCOUNT_BYTES_MAX, "{longest} bytes");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub fn has(&self, is_it: impl Fn(&Value) -> bool) -> bool {
        self.entries().iter().any(is_it)
    }

    fn blames(&self, culprit: &str) -> bool {
        let names = |entry: &Value| {
            let findings = entry["account"]["findings"].as_array().cloned().unwrap_or_default();
            findings.iter().any(|finding| finding["culprit"] == culprit)
        };
        self.has(|entry| entry["kind"] == "miss" && entry["thread"] == "planted" && names(entry))
    }

    fn explain(&self, words: &[&str]) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
        let explained = command.arg("explain").args(words).current_dir(self.folder.path()).output().unwrap();
        String::from_utf8_lossy(&explained.stdout).into_owned()
    }

    pub fn lines(&self) -> String {
        fs::read_to_string(self.folder.path().join("lines")).unwrap_or_default()
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        let _ = self.planted.kill();
        let _ = self.planted.wait();
        if let Some(mut guard) = self.guard.take() {
            let _ = kill_process(Pid::from_child(&guard), Signal::TERM);
            let _ = guard.wait();
        }
    }
}

#[test]
fn planted_misses_are_accounted_for_and_the_last_seconds_saved() {
    let kinds = ["hog", "stop"].repeat(5);
    let Some(mut guarded) = Guarded::with(&kinds) else { return };
    wait_until("both kinds are named", || guarded.blames("other-rt-task") && guarded.blames("thread-stopped"));
    let saved = guarded.tardy(&["--save"]).output().unwrap();
    let account: Value = serde_json::from_slice(&saved.stdout).unwrap_or_default();
    assert_eq!(account["kind"], "saved", "{}{}", String::from_utf8_lossy(&saved.stderr), guarded.lines());
    let tracing = Path::new("/sys/kernel/tracing");
    // Earlier kernels pass nothing on from the marker of the machine.
    if tracing.join("options/copy_trace_marker").exists() {
        wait_until("a program is heard", || {
            let _ = fs::write(tracing.join("trace_marker"), "tardy: save slip");
            std::thread::sleep(std::time::Duration::from_millis(200));
            guarded.has(|entry| entry["kind"] == "saved" && entry["request"]["reason"] == "slip")
        });
    }
    assert!(guarded.end(Signal::TERM), "{}", guarded.lines());
    let last = guarded.entries().pop().unwrap();
    assert_eq!(last["kind"], "stopped", "{last}");
    assert!(last["misses"].as_u64() >= Some(2) && last["memory_kb"].as_u64() > Some(0), "{last}");
    assert!(guarded.lines().contains("plant-hog"), "{}", guarded.lines());
}

const CHAIN: &str = r#"
[[chain]]
name = "sensor to motor"
deadline = "5ms"
period = "10ms"
stages = ["pipe-sensor", "pipe-motor"]
"#;

#[test]
fn a_missed_deadline_of_a_chain_names_the_stage_and_its_cause() {
    the_hog_of_a_chain_is_named("pipe");
}

/// The softirq of the sender hands over.
#[test]
fn a_chain_over_a_socket_is_followed_as_far() {
    the_hog_of_a_chain_is_named("packet");
}

fn the_hog_of_a_chain_is_named(link: &str) {
    let Some(mut guarded) = Guarded::beside("pipeline", &["hog", link]) else { return };
    fs::write(guarded.folder.path().join("chains.toml"), CHAIN).unwrap();
    guarded.start_with(&["--comm", "pipe-*", "--chain", "chains.toml"]);
    let names_the_hog = |entry: &Value| {
        let late = &entry["account"]["late_stage"];
        let (stage, culprit) = (late["stage"].as_u64(), late["culprit"].as_str());
        entry["kind"] == "chain" && (stage, culprit) == (Some(2), Some("other-rt-task"))
    };
    wait_until("the stage is named", || guarded.has(names_the_hog));
    assert!(guarded.end(Signal::TERM), "{}", guarded.lines());
    let entries = guarded.entries();
    let found = entries.iter().find(|entry| names_the_hog(entry)).unwrap();
    let account = &found["account"];
    let ledger: i64 = account["late_stage"]["ledger"].as_object().unwrap().values().filter_map(Value::as_i64).sum();
    assert!(account["latency_ns"].as_i64() > account["deadline_ns"].as_i64() && ledger >= 5_000_000, "{found}");
    assert!(account["instances"].as_u64() > account["missed"].as_u64(), "{found}");
    let stopped = entries.last().unwrap();
    let counted = ["chain_misses", "chain_accounts"].map(|name| stopped[name].as_u64());
    assert!(counted[0] >= counted[1] && counted[1] >= Some(1), "{stopped}");
    let lines = guarded.lines();
    assert!(lines.contains("pipe-hog"), "{lines}");
    let archive = account["archive"].as_str().unwrap();
    let explained = guarded.explain(&[archive, "--chain", "chains.toml", "--json"]);
    let explained: Value = serde_json::from_str(&explained).unwrap();
    let latencies = explained["chains"][0]["findings"].as_array().unwrap().iter();
    assert!(latencies.map(|finding| &finding["latency_ns"]).any(|ns| ns.as_i64() > Some(5_000_000)), "{explained}");
}

#[test]
fn a_killed_guard_is_repaired_and_reported_by_the_next() {
    let kinds = ["hog"; 15];
    let Some(mut guarded) = Guarded::with(&kinds) else { return };
    wait_until("a miss", || guarded.has(|entry| entry["kind"] == "miss"));
    assert!(!guarded.end(Signal::KILL));
    let before = guarded.entries().len();
    guarded.start();
    let is_after = |entry: &Value| entry["number"].as_u64() > Some(before as u64);
    wait_until("the kill is reported", || guarded.has(|entry| is_after(entry) && entry["kind"] == "killed"));
    wait_until("an account of the next guard", || {
        guarded.has(|entry| is_after(entry) && entry["after_ms"].is_number())
    });
    assert!(guarded.end(Signal::TERM), "{}", guarded.lines());
    let numbers: Vec<u64> = guarded.entries().iter().filter_map(|entry| entry["number"].as_u64()).collect();
    assert!(numbers.iter().copied().eq(1..=numbers.len() as u64), "{numbers:?}");
}

#[test]
fn a_guard_ends_with_its_command_and_its_exit_code() {
    let Some(mut guarded) = Guarded::with(&[]) else { return };
    wait_until("the guard watches", || guarded.lines().contains("guards threads called"));
    assert!(guarded.end(Signal::TERM), "{}", guarded.lines());
    let ended = guarded.tardy(&["--limit", "50ms", "--", "sh", "-c", "sleep 1; exit 7"]).output().unwrap();
    assert_eq!(ended.status.code(), Some(7), "{}", String::from_utf8_lossy(&ended.stderr));
}

#[test]
fn systemd_accepts_the_unit() {
    if !met(&[Program("systemd-analyze")]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let printed = Command::new(env!("CARGO_BIN_EXE_tardy")).args(["guard", "--print-unit"]).output().unwrap();
    let unit = String::from_utf8(printed.stdout).unwrap().replace("/usr/bin/tardy", "/bin/true");
    let path = folder.path().join("tardy-guard@robot.service");
    fs::write(&path, unit).unwrap();
    let checked = Command::new("systemd-analyze").args(["verify", "--man=no"]).arg(&path).output().unwrap();
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success() && !said.contains("tardy-guard"), "{said}");
}
