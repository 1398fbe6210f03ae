//! The backend against a QEMU that is a shell script.

use super::*;
use crate::run::{RunRequest, TimeLimits, run};
use crate::stop::StopRequests;
use crate::target::{Exit, Output};
use archive::manifest::RunState;
use archive::reader::Run;
use archive::settings::RunSettings;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::Duration;
use tempfile::TempDir;

/// Finds out where it is to write, and how: `send BYTES AFTER` writes beginning there, and how many there are now.
const SCRIPT: &str = r#"#!/bin/sh
[ "$1" = --version ] && echo 'a script' && exit
for word; do case $word in
  *id=stream,*) stream=${word#*mem-path=}; stream=${stream%%,*}; size=${word#*size=}; size=${size%%,*};;
  file,id=console,*) console=${word#*path=};;
esac; done
put() { dd of="$stream" bs=1 seek="$1" conv=notrunc status=none; }
send() { printf "$1" | put "$2"; printf "\\$(printf %o $((${#1} + $2)))" | put $((size - 8)); }
"#;

struct Stage(TempDir);

impl Stage {
    fn with(part: &str) -> Self {
        let stage = Self(tempfile::tempdir().unwrap());
        fs::write(stage.path("qemu"), format!("{SCRIPT}{part}\n")).unwrap();
        fs::set_permissions(stage.path("qemu"), fs::Permissions::from_mode(0o755)).unwrap();
        fs::write(stage.path("kernel"), super::super::elf::tests::module("")).unwrap();
        fs::write(stage.path("meter"), "not looked at").unwrap();
        stage
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn target(&self) -> VirtualTimeTarget {
        let machine = VirtualMachine {
            qemu: Some(self.path("qemu")),
            ..VirtualMachine::in_virtual_time(self.path("kernel").to_str().unwrap())
        };
        VirtualTimeTarget::new("exact", machine, &self.path("meter"), self.0.path())
    }

    fn run(&self, stop: &StopRequests) -> Run {
        let settings = RunSettings { limit_ns: Some(1000), ..RunSettings::default() };
        let request = RunRequest {
            id: "test".into(),
            directory: self.path("run"),
            command: Vec::new(),
            tool_version: "0".into(),
            meter: self.path("meter"),
            limits: TimeLimits::of(&settings, Duration::from_secs(60)),
            settings,
        };
        run(&mut self.target(), &request, stop, &mut |_| ()).unwrap();
        Run::open(self.path("run")).unwrap()
    }
}

fn measure() -> Command {
    Command { program: "/meter".into(), arguments: vec!["measure".into()] }
}

#[test]
fn the_guest_is_told_before_it_boots_and_its_stream_comes_whole() {
    let stage = Stage::with("send first 0; sleep 0.2; send ' second' 5; echo hello >$console");
    let mut target = stage.target();
    target.prepare().unwrap();
    let mut running = target.start(&measure()).unwrap();
    running.write(serde_json::to_string(&RunSettings::default()).unwrap().as_bytes()).unwrap();
    assert_eq!(running.read(Duration::ZERO), Output::Closed, "nothing runs before the settings are complete");
    running.write(b"\n").unwrap();
    let mut said = Vec::new();
    while let Output::Bytes(bytes) = running.read(Duration::from_secs(60)) {
        said.extend(bytes);
    }
    assert_eq!(said, b"first second");
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));
    assert_eq!(target.console(), b"hello\n");
    let initramfs = fs::read(target.scratch.as_ref().unwrap().0.join("initramfs")).unwrap();
    let text = String::from_utf8_lossy(&initramfs);
    assert!(text.contains("\"hostname\":\"virtual-time\",\"start_ns\":5000000000"), "the plan is in the file system");
    assert!(target.caveat().unwrap().text.contains("VIRTUAL TIME"));
}

#[test]
fn a_panic_is_the_reason_and_the_archive_says_virtual_time() {
    let stage = Stage::with("echo 'Kernel panic - not syncing: no init' >$console");
    let archived = stage.run(&StopRequests::default());
    let manifest = archived.manifest.unwrap();
    assert!(manifest.emulated && manifest.virtual_time);
    assert_eq!((manifest.state, manifest.target.as_str()), (RunState::Failed, "exact (virtual time)"));
    assert!(manifest.problem.unwrap().contains("Kernel panic"));
    assert!(archived.problems.iter().any(|problem| problem.text.contains("VIRTUAL TIME")));
}

#[test]
fn a_request_to_stop_ends_the_guest() {
    let stage = Stage::with("exec sleep 100");
    let stop = StopRequests::default();
    stop.request();
    let manifest = stage.run(&stop).manifest.unwrap();
    assert_eq!(manifest.state, RunState::Interrupted, "{:?}", manifest.problem);
}

#[test]
fn a_qemu_that_cannot_be_started_is_named() {
    let stage = Stage::with("");
    fs::set_permissions(stage.path("qemu"), fs::Permissions::from_mode(0o644)).unwrap();
    let problem = stage.run(&StopRequests::default()).manifest.unwrap().problem.unwrap();
    assert!(problem.contains("failed to start") && problem.contains("qemu"), "{problem}");
}

#[test]
fn nothing_but_measuring_is_done_there() {
    let stage = Stage::with("");
    let mut target = stage.target();
    target.prepare().unwrap();
    let version = Command { arguments: vec!["--version".into()], ..measure() };
    assert!(target.start(&version).is_err());
    assert!(target.fetch_file(Path::new("/x"), &stage.path("x")).is_err());
}

#[test]
fn a_file_that_is_sent_is_in_the_guest_and_changes_what_it_is_made_of() {
    let stage = Stage::with(
        r#"while [ $# -gt 0 ]; do [ "$1" = -initrd ] && cp "$2" "$(dirname "$0")/seen"; shift; done; send x 0"#,
    );
    fs::write(stage.path("program"), "what a program does").unwrap();
    let mut target = stage.target();
    target.prepare().unwrap();
    let before = target.ingredients();
    for path in ["relative", "/tardy-meter", "/a/../b"] {
        assert!(target.send_file(&stage.path("program"), Path::new(path)).is_err(), "{path}");
    }
    target.send_file(&stage.path("program"), Path::new("/program")).unwrap();
    let more: Vec<String> = target.ingredients().into_keys().filter(|name| !before.contains_key(name)).collect();
    assert_eq!(more, ["file /program"]);
    let mut running = target.start(&measure()).unwrap();
    running.write(format!("{}\n", serde_json::to_string(&RunSettings::default()).unwrap()).as_bytes()).unwrap();
    assert_eq!(running.wait(Duration::from_secs(60)), Some(Exit::Code(0)));
    let seen = fs::read(stage.path("seen")).unwrap();
    assert!(seen.windows(19).any(|bytes| bytes == b"what a program does"));
}
