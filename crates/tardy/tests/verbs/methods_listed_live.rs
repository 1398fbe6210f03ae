//! `tardy list methods --json` agrees with a run: in each situation, a method that is listed as one that can run
//! measures, and one that lacks something is refused before the first sample with exactly what the list says.

use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use prerequisites::Machine;
use prerequisites::Prerequisite::Program;
use prerequisites::met;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// Methods that the list can only say to have their device: whether something is wired to it is known to the user alone.
const LEFT_OUT: [(&str, &str); 2] =
    [("gpio", "two lines and their wiring have to be named"), ("parallel", "something has to answer at the port")];

/// No right beside those of every user.
const UNPRIVILEGED: [&str; 4] = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];

/// The same with the right to lock memory: what only an ordinary thread needs can run.
const MEMORY_ALONE: [&str; 6] =
    ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--inh-caps=+ipc_lock", "--ambient-caps=+ipc_lock"];

/// A container's /dev with the devices that every program expects, and no pseudo-terminals behind /dev/ptmx.
const WITHOUT_DEVICES: [&str; 5] = [
    "unshare",
    "--mount",
    "sh",
    "-ec",
    "mount -t tmpfs none /dev; cd /dev; umask 0
     mknod null c 1 3; mknod zero c 1 5; mknod full c 1 7; mknod random c 1 8; mknod urandom c 1 9
     mknod tty c 5 0; mknod ptmx c 5 2; mkdir shm; cd \"$0\"; exec \"$@\"",
];

/// A network namespace whose loop-back interface is down, while /sys still shows that of the machine.
const WITHOUT_NETWORK: [&str; 2] = ["unshare", "--net"];

/// A machine whose usual place for files cannot be written to.
const READ_ONLY: [&str; 5] =
    ["unshare", "--mount", "sh", "-ec", "mount -t tmpfs -o ro none /var/tmp; cd \"$0\"; exec \"$@\""];

struct Situation<'a> {
    /// A program and its arguments, followed by the directory where a shell needs it.
    wrapper: &'a [&'a str],
    folder: TempDir,
}

impl<'a> Situation<'a> {
    /// Copies of the programs that every user may run; `None` if this machine cannot provide it.
    fn of(wrapper: &'a [&'a str]) -> Option<Self> {
        let meter = real_meter().filter(|_| wrapper.first().is_none_or(|program| met(&[Program(program)])))?;
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).unwrap();
        let programs = [(Path::new(env!("CARGO_BIN_EXE_tardy")), "tardy"), (&meter, "tardy-meter")];
        for (program, name) in programs {
            fs::copy(program, folder.path().join(name)).unwrap();
        }
        Some(Self { wrapper, folder })
    }

    fn tardy(&self, words: &[&str]) -> Ended {
        let tardy = self.folder.path().join("tardy");
        let mut command = match self.wrapper {
            [] => Command::new(tardy),
            [program, arguments @ ..] => {
                let mut command = Command::new(program);
                let folder = arguments.contains(&"sh").then_some(self.folder.path());
                command.args(arguments).args(folder).arg(tardy);
                command
            }
        };
        command.args(words).current_dir(self.folder.path());
        command.env("TARDY_METER", self.folder.path().join("tardy-meter"));
        command.env("TARDY_STATE_DIR", self.folder.path().join("state"));
        Ended::of(command.output().unwrap())
    }

    fn run(&self, method: &str) -> Ended {
        let out = format!("run-{method}");
        let words = ["-D", "300ms", "--settle", "50ms", "--trace", "off", "--json", "--beside-others", "--out", &out];
        self.tardy(&[&["run", "--method", method], &words[..]].concat())
    }

    /// Compares every method with its run; answers the names of those that run, and everything that is missing.
    fn compared(&self) -> (Vec<String>, Vec<String>) {
        // Without other measurements every ordinary thread has a turn within the run.
        let _machine = Machine::alone();
        let document = self.tardy(&["list", "methods", "--json"]).json();
        let (mut running, mut missing) = (Vec::new(), Vec::new());
        for listed in document["methods"].as_array().unwrap() {
            let name = listed["name"].as_str().unwrap();
            let obstacles = texts(&listed["missing"]);
            assert_eq!(listed["runs"], Value::Bool(obstacles.is_empty()), "{listed}");
            if obstacles.is_empty() && LEFT_OUT.iter().any(|(left_out, _)| *left_out == name) {
                continue;
            }
            let ended = self.run(name);
            if obstacles.is_empty() {
                assert_measured(name, &ended);
                running.push(name.to_owned());
            } else {
                assert_refused(name, &obstacles, &ended);
                missing.extend(obstacles);
            }
        }
        assert!(running.len() + missing.len() > 0, "{document}");
        (running, missing)
    }
}

fn texts(missing: &Value) -> Vec<String> {
    missing.as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap().to_owned()).collect()
}

fn assert_measured(name: &str, ended: &Ended) {
    let summary = ended.json();
    assert_eq!((ended.code, &summary["valid"]), (Some(0), &Value::Bool(true)), "{name}: {}", ended.stderr);
    let cycles = |cpu: &Value| cpu["cycles"].as_u64().unwrap();
    let samples: u64 = summary["cpus"].as_array().unwrap().iter().map(cycles).sum();
    assert!(samples > 0 && summary["all_cpus"]["max"].is_i64(), "{name}: {}", summary["all_cpus"]);
}

fn assert_refused(name: &str, obstacles: &[String], ended: &Ended) {
    let error = &ended.json()["error"];
    assert_eq!((ended.code, &error["code"]), (Some(3), &"meter.method-impossible".into()), "{name}: {}", ended.stderr);
    let expected = format!("the method {name} cannot run here: {}", obstacles.join("; "));
    assert_eq!(error["text"], expected.as_str(), "{name}");
}

#[test]
fn as_root_every_method_runs_that_is_listed_as_one_that_can() {
    let Some(here) = Situation::of(&[]) else { return };
    let (running, _) = here.compared();
    assert!(running.iter().any(|name| name == "timer"), "{running:?}");
}

#[test]
fn without_root_the_rights_that_are_missing_are_those_that_refuse_a_run() {
    let Some(unprivileged) = Situation::of(&UNPRIVILEGED) else { return };
    let (_, missing) = unprivileged.compared();
    assert!(missing.iter().any(|text| text.contains("priorities (SCHED_FIFO priority 80")), "{missing:?}");
    assert!(missing.iter().any(|text| text.contains("no right to SCHED_DEADLINE")), "{missing:?}");
}

#[test]
fn with_locked_memory_alone_only_methods_with_ordinary_threads_run() {
    let Some(memory_alone) = Situation::of(&MEMORY_ALONE) else { return };
    assert_eq!(memory_alone.compared().0, ["noise", "map"]);
}

#[test]
fn without_devices_the_list_names_those_that_a_run_misses() {
    let Some(container) = Situation::of(&WITHOUT_DEVICES) else { return };
    let (running, missing) = container.compared();
    assert!(!running.iter().any(|name| ["serial", "rtc", "hpet", "audio"].contains(&name.as_str())), "{running:?}");
    assert!(missing.iter().any(|text| text.contains("/dev/ptmx")), "{missing:?}");
}

#[test]
fn without_a_network_the_list_does_not_take_the_machine_s_for_its_own() {
    let Some(alone) = Situation::of(&WITHOUT_NETWORK) else { return };
    let (running, _) = alone.compared();
    assert!(!running.iter().any(|name| ["udp", "ethernet"].contains(&name.as_str())), "{running:?}");
}

#[test]
fn without_a_place_for_its_file_storage_is_listed_as_a_method_that_cannot_run() {
    let Some(read_only) = Situation::of(&READ_ONLY) else { return };
    let (running, missing) = read_only.compared();
    assert!(!running.iter().any(|name| name == "storage"), "{running:?}");
    assert!(missing.iter().any(|text| text.contains(" /var/tmp")), "{missing:?}");
}
