//! Boards shared through labgrid. `make e2e-labgrid` installs labgrid; one test runs without it.

mod lab;
mod recipe;

use crate::bench::Bench;
use crate::host::{ends, interrupt, until_shown};
use crate::watching::{Running, compiled, list, names_the_hog};
use fixtures::ended::Ended;
use fixtures::waiting::wait_until;
use lab::Lab;
use prerequisites::Prerequisite::{Program, Tracefs};
use prerequisites::met;
use roxmltree::Document;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

/// A lab with one place, which is acquired while a file of that name exists.
const CLIENT: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.." || exit 9
case $* in
  *acquire) touch acquired ;;
  *release) rm acquired ;;
  *show)
    echo "Acquired resource 'NetworkService' (exp/lab/NetworkService/NetworkService):"
    echo "  {'cls': 'NetworkService', 'params': {'address': '127.0.0.1', 'port': 22, 'username': 'root'}}" ;;
esac
"#;

#[test]
fn a_killed_host_leaves_nothing_on_a_board_of_a_lab() {
    let Some(bench) = Bench::new() else { return };
    fs::create_dir(bench.path("bin")).unwrap();
    fs::write(bench.path("bin/labgrid-client"), CLIENT).unwrap();
    fs::set_permissions(bench.path("bin/labgrid-client"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    bench.add_place("place", &["--labgrid", "rack1"], &["--port", &bench.server.port.to_string()]);
    let before = bench.server.listing();
    let set = "/proc/sys/vm/stat_interval";
    let was = fs::read_to_string(set).unwrap();
    let words = ["run", "--target", "place", "-D", "100s", "--trace", "off", "--every-sample", "--out", "run"];
    for attempt in 0..3 {
        let change = format!("vm.stat_interval={}", 7 + attempt);
        let mut command = bench.command(&[&words[..], &["--set", &change]].concat());
        let mut tardy = command.env("PATH", &path).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("it never measured", || bench.path("run/samples/0.partial").is_file());
        assert_ne!(fs::read_to_string(set).unwrap(), was);
        tardy.kill().unwrap();
        tardy.wait().unwrap();
        wait_until("something is left on the board", || bench.server.listing() == before);
        assert_eq!(fs::read_to_string(set).unwrap(), was, "what was changed is put back before the last trace goes");
        wait_until("the place was not released", || !bench.path("acquired").exists());
        fs::remove_dir_all(bench.path("run")).unwrap();
    }
}

#[test]
fn a_program_on_a_board_of_a_lab_is_watched_and_audited() {
    let Some(bench) = Bench::new().filter(|_| met(&[Tracefs, Program("cc")])) else { return };
    fs::create_dir(bench.path("bin")).unwrap();
    fs::write(bench.path("bin/labgrid-client"), CLIENT).unwrap();
    fs::set_permissions(bench.path("bin/labgrid-client"), fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    bench.add_place("place", &["--labgrid", "rack1"], &["--port", &bench.server.port.to_string()]);
    let hog = compiled(&bench.path("board/bin"), "hog");
    compiled(&bench.path("board/bin"), "periods");
    let mut running = Running(Vec::new());
    for cpu in 0..std::thread::available_parallelism().unwrap().get() {
        running.start(&hog, &[&cpu.to_string(), "4000", "200000"]);
    }
    let before = bench.server.listing();
    let on_the_place = |words: &[&str]| {
        let words = [words, &["--", "/bin/periods", "-1", "3000"]].concat();
        Ended::of(bench.command(&words).env("PATH", &path).output().unwrap())
    };
    let watch = ["watch", "--target", "place", "--beside-others", "--limit", "1ms", "--json", "--out", "run"];
    let ended = on_the_place(&watch);
    assert_eq!(ended.code, Some(124), "{}", ended.stderr);
    assert!(list(&ended.json()["spikes"]).iter().any(names_the_hog), "{}", ended.stdout);
    assert!(!bench.path("acquired").exists(), "the place was not released");
    let audited = on_the_place(&["audit", "--target", "place", "--duration", "2s", "--json", "--out", "audit"]);
    assert!(matches!(audited.code, Some(0 | 1)), "{:?} {}", audited.code, audited.stderr);
    assert!(list(&audited.json()["threads"]).iter().any(|thread| thread["name"] == "periods"), "{}", audited.stdout);
    assert!(!bench.path("acquired").exists(), "the place was not released");
    assert_eq!(bench.server.listing(), before);
}

#[test]
#[ignore = "needs labgrid: make e2e-labgrid"]
fn a_place_is_acquired_switched_measured_on_judged_and_released() {
    let Some(lab) = Lab::new(&["--power", "cycle", "--power-off"]) else { return };
    let before = lab.bench.server.listing();
    let verified = lab.tardy(&["target", "verify", "board"]);
    assert!(
        verified.code == Some(0) && verified.stdout.contains("place rack1"),
        "{}{}",
        verified.stdout,
        verified.stderr
    );
    assert_eq!(lab.switched(), "010");
    let run = ["run", "--target", "board", "-D", "2s", "--load", "messaging", "--limit", "5s", "--out", "run"];
    let ended = lab.tardy(&run);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(lab.switched(), "010010", "off and on before each, off after each");
    assert!(!lab.is_acquired());
    assert_eq!(lab.bench.server.listing(), before);
    let junit = lab.tardy(&["export", "run", "--format", "junit", "-o", "-"]);
    let document = Document::parse(&junit.stdout).unwrap();
    let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert_eq!((suite.attribute("name"), suite.attribute("errors")), (Some("tardy.board.messaging"), Some("0")));
}

#[test]
#[ignore = "needs labgrid: make e2e-labgrid"]
fn a_place_that_another_user_has_is_refused_and_waited_for() {
    let Some(lab) = Lab::new(&[]) else { return };
    lab.client("bob", &["acquire"]);
    let run = ["run", "--target", "board", "-D", "1s", "--trace", "off", "--out", "run"];
    let refused = lab.tardy(&run);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains(" lab/bob; --wait"), "{}", refused.stderr);
    assert!(!lab.bench.path("run").exists());
    let mut waiting = lab.begin(&[&run[..], &["--wait", "60s"]].concat());
    until_shown(&mut waiting, "rack1 is already acquired by lab/bob; waiting for it");
    lab.client("bob", &["release"]);
    assert_eq!(waiting.wait().unwrap().code(), Some(0));
    assert!(!lab.is_acquired());
    lab.client("alice", &["acquire"]);
    let mut command = lab.command(&["run", "--target", "board", "-D", "1s", "--trace", "off", "--out", "own"]);
    let own = ends(command.env("LG_USERNAME", "alice").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    assert!(own.code == Some(0) && own.stdout.contains("[machine.place-kept]"), "{}{}", own.stdout, own.stderr);
    assert!(lab.is_acquired(), "who acquired it by hand keeps it");
}

#[test]
#[ignore = "needs labgrid: make e2e-labgrid"]
fn a_ctrl_c_and_a_kill_release_the_place() {
    let Some(lab) = Lab::new(&["--power-off"]) else { return };
    let before = lab.bench.server.listing();
    for gently in [true, false] {
        let out = if gently { "stopped" } else { "killed" };
        let mut tardy =
            lab.begin(&["run", "--target", "board", "-D", "100s", "--trace", "off", "--every-sample", "--out", out]);
        wait_until("it never measured", || lab.bench.path(out).join("samples/0.partial").is_file());
        assert!(lab.is_acquired());
        if gently {
            interrupt(&tardy)
        } else {
            tardy.kill().unwrap()
        }
        let ended = tardy.wait().unwrap();
        assert_eq!(ended.code(), gently.then_some(0), "what was measured until then counts");
        wait_until("the place was not released", || !lab.is_acquired());
        wait_until("something is left on the board", || lab.bench.server.listing() == before);
    }
    assert_eq!(lab.switched(), "00");
}

#[test]
#[ignore = "needs labgrid: make e2e-labgrid"]
fn new_software_goes_onto_the_board_of_a_place_before_the_run() {
    let Some(lab) = Lab::new(&["--power", "on"]) else { return };
    let file = lab.bench.target_file("board");
    let text = fs::read_to_string(&file).unwrap();
    let deploy = "[deploy]\nreboots = false\ncommand = 'echo $TARDY_IMAGE: onto card'\n";
    fs::write(&file, format!("{text}\n{deploy}")).unwrap();
    let run = ["run", "--target", "board", "-D", "1s", "--trace", "off", "--deploy", "new.wic", "--out", "run"];
    let ended = lab.tardy(&run);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let notes = fs::read_to_string(lab.bench.path("run/console.log")).unwrap();
    assert!(notes.contains("new.wic: onto card") && notes.contains("[power.cycle]"), "{notes}");
    assert_eq!(lab.switched(), "101", "on, and off and on again when the card was written");
}
