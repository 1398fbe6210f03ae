//! `tardy run --target` on a labgrid place, with a shell script as the client: the place is released in every case.

use archive::message::Ending;
use fixtures::fake_meter::*;
use fixtures::waiting::wait_until;
use roxmltree::Document;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

/// Logs its requests, and has the place while the file `acquired` exists.
const CLIENT: &str = r#"#!/bin/sh
cd "$(dirname "$0")/.." || exit 9
while [ "$#" -gt 0 ]; do
  case $1 in
    --coordinator) coordinator=$2; shift 2 ;;
    --place) place=$2; shift 2 ;;
    *) break ;;
  esac
done
others=$(cat others 2> /dev/null)
echo "$place@$coordinator $*" >> calls
case $1 in
  acquire)
    if [ -n "$others" ]; then
      echo "labgrid-client: Error: Place $place is already acquired by $others. To work simultaneously, x" >&2; exit 1
    fi
    if [ -e acquired ]; then echo "labgrid-client: Error: You have already acquired place $place." >&2; exit 1; fi
    echo yes > acquired; echo "acquired place $place" ;;
  release)
    if [ -e stuck ]; then echo "Server error: the coordinator is tired" >&2; exit 1; fi
    rm acquired && echo "released place $place" ;;
  power) ;;
  show)
    echo "Place '$place':"
    echo "Acquired resource 'NetworkService' (exp/lab/NetworkService/NetworkService):"
    echo "  {'cls': 'NetworkService', 'params': {'address': '192.0.2.7', 'port': 22, 'username': 'root'}}" ;;
esac
"#;
/// Runs the commands for the board here; the only place for a meter is the directory `board`.
const SSH: &str = r#"#!/bin/sh
here=$(cd "$(dirname "$0")/.." && pwd)
if [ -e "$here/unreachable" ]; then rm -f "$here/unreachable"; echo "ssh: connect: Connection refused" >&2; exit 255; fi
for script; do :; done
exec sh -c "$(printf %s "$script" | sed "s#/tmp /var/tmp /dev/shm \$HOME#$here/board#")"
"#;

/// The bench with a lab around it, and the target `board`.
struct Lab(Bench);

impl Lab {
    fn new(bench: Bench, options: &[&str]) -> Self {
        let lab = Self(bench);
        for folder in ["bin", "board"] {
            fs::create_dir(lab.0.path(folder)).unwrap();
        }
        for (name, script) in [("labgrid-client", CLIENT), ("ssh", SSH)] {
            let path = lab.0.path("bin").join(name);
            fs::write(&path, script).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        let added = lab.ended(&[&["target", "add", "board", "--labgrid", "rack1", "--here"], options].concat());
        assert_eq!(added.code, Some(0), "{}", added.stderr);
        lab
    }

    fn tardy(&self, words: &[&str]) -> Command {
        let mut command = self.0.tardy(words);
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.0.path("bin").display()));
        command.env("XDG_STATE_HOME", self.0.path("state")).env_remove("LG_COORDINATOR");
        command
    }

    fn ended(&self, words: &[&str]) -> Ended {
        Ended::of(self.tardy(words).output().unwrap())
    }

    fn run(&self, words: &[&str]) -> Ended {
        self.ended(&[&["run", "--target", "board", "--out", "run"], words].concat())
    }

    /// The requests to the client, without the place.
    fn calls(&self) -> Vec<String> {
        let calls = fs::read_to_string(self.0.path("calls")).unwrap_or_default();
        calls.lines().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect()
    }

    fn has(&self, name: &str) -> bool {
        self.0.path(name).exists()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.path(name), text).unwrap();
    }
}

/// On the board the meter is in another directory than its frames.
fn on_board(bench: Bench) -> Bench {
    let here = bench.path("");
    bench.does(&format!("here='{}'", here.display()))
}

fn measures_well() -> Bench {
    ending_well(on_board(Bench::new()).says(&[hello(), progress()]).says(&[load("messaging")]))
}

#[test]
fn a_place_is_acquired_switched_measured_on_and_released() {
    let lab = Lab::new(measures_well(), &["--coordinator", "lab:20408", "--power", "cycle", "--power-off"]);
    let ended = lab.run(&["--json"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert_eq!(lab.calls(), ["acquire", "power cycle", "show", "power off", "release"]);
    assert!(fs::read_to_string(lab.0.path("calls")).unwrap().starts_with("rack1@lab:20408 "));
    assert!(!lab.has("acquired"), "the place was released");
    assert_eq!(fs::read_dir(lab.0.path("board")).unwrap().count(), 0, "nothing is left on the board");
    let junit = lab.ended(&["export", "run", "--format", "junit", "-o", "-"]);
    let document = Document::parse(&junit.stdout).unwrap();
    let suite = document.descendants().find(|node| node.has_tag_name("testsuite")).unwrap();
    assert_eq!(suite.attribute("name"), Some("tardy.board.messaging"));
}

#[test]
fn a_place_is_released_when_the_board_cannot_be_reached_and_when_the_meter_dies() {
    let lab = Lab::new(measures_well(), &[]);
    lab.write("unreachable", "");
    let ended = lab.run(&["--json"]);
    ended.assert_problem(3, "machine.not-prepared");
    assert!(ended.stderr.contains("--port"), "{}", ended.stderr);
    assert_eq!((lab.calls(), lab.has("acquired")), (vec!["acquire".into(), "show".into(), "release".into()], false));
    let dies = on_board(Bench::new()).says(&[hello()]).does("echo 'out of luck' >&2; kill -9 $$");
    let lab = Lab::new(dies, &[]);
    let ended = lab.run(&[]);
    assert!(ended.code == Some(3) && ended.stderr.contains("out of luck"), "{}", ended.stderr);
    assert!(!lab.has("acquired"));
}

#[test]
fn a_board_that_boots_is_waited_for() {
    let lab = Lab::new(measures_well(), &["--power", "on"]);
    lab.write("unreachable", "");
    let ended = lab.run(&["--quiet"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("waiting for the board to boot: nothing listens"), "{}", ended.stderr);
}

#[test]
fn an_interrupt_and_a_kill_release_the_place() {
    for signal in ["INT", "KILL"] {
        let measures = on_board(Bench::new()).says(&[hello(), progress()]);
        let measures = measures.does(": > \"$here/measuring\"; read -r line; [ \"$line\" = stop ] || exit 9");
        let lab = Lab::new(measures.says(&[totals(0), end(Ending::Stopped)]), &[]);
        let words = ["run", "--target", "board", "--out", "run", "--quiet"];
        let mut child = lab.tardy(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        wait_until("it never measured", || lab.has("measuring"));
        assert!(lab.has("acquired"));
        Command::new("kill").args(["-s", signal, &child.id().to_string()]).status().unwrap();
        child.wait().unwrap();
        wait_until("the place was not released", || !lab.has("acquired"));
    }
}

#[test]
fn the_user_who_has_the_place_is_named_and_waited_for() {
    let lab = Lab::new(measures_well(), &[]);
    lab.write("others", "desk/bob");
    let ended = lab.run(&[]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains(" desk/bob") && ended.stderr.contains("--wait"), "{}", ended.stderr);
    assert!(!lab.has("run"), "there is no archive of nothing");
    let words = ["run", "--target", "board", "--out", "run", "--wait", "60s", "--quiet"];
    let child = lab.tardy(&words).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    wait_until("it never asked", || lab.calls().len() > 1);
    fs::remove_file(lab.0.path("others")).unwrap();
    let ended = Ended::of(child.wait_with_output().unwrap());
    assert!(ended.code == Some(0) && ended.stderr.contains(" desk/bob"), "{}", ended.stderr);
}

#[test]
fn a_place_of_ones_own_is_used_and_kept() {
    let lab = Lab::new(measures_well(), &[]);
    lab.write("acquired", "by hand");
    let ended = lab.run(&[]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("[machine.place-kept]"), "{}", ended.stdout);
    assert!(lab.has("acquired") && !lab.calls().contains(&"release".to_owned()));
}

#[test]
fn what_keeps_a_place_from_being_had_or_released_is_named() {
    let lab = Lab::new(measures_well(), &[]);
    lab.write("stuck", "");
    let ended = lab.run(&["--quiet"]);
    assert_eq!(ended.code, Some(0), "the measurement is sound");
    assert!(
        ended.stderr.contains("labgrid-client -p rack1 release") && ended.stderr.contains("tired"),
        "{}",
        ended.stderr
    );
    fs::remove_file(lab.0.path("bin/labgrid-client")).unwrap();
    let ended = lab.ended(&["run", "--target", "board", "--out", "other"]);
    assert!(ended.code == Some(3) && ended.stderr.contains("`pip install labgrid`"), "{}", ended.stderr);
}
