//! `tardy run` against a fake meter: every way a run can end, as seen by a user or a script.

use archive::message::{Ending, FileKind, Message, Problem, RunPhase, Severity};
use archive::problem::Code;
use archive::spike::SpikeReason;
use fixtures::fake_meter::*;
use fixtures::waiting::wait_for_file;
use std::fs;
use std::process::{Child, Command, Stdio};

#[test]
fn a_normal_run_prints_a_summary_and_leaves_an_archive() {
    let bench = ending_well(measuring());
    let ended = bench.run(&["run", "--duration", "2s", "--load", "messaging", "--out", "here"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    for expected in [
        "1 CPU woke up 3 times in 2.0 s",
        "153.2 µs late, on CPU 0",
        "an observation, not a bound",
        "tardy explain here",
    ] {
        assert!(ended.stdout.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let manifest = manifest_of(&bench.path("here"));
    assert_eq!(manifest["state"], "complete");
    assert_eq!(manifest["command"][1], "run");
    let settings: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("settings.json")).unwrap()).unwrap();
    assert_eq!(settings["duration_ns"], 2_000_000_000u64);
    assert!(bench.path("here/explanations.json").exists());
    assert_eq!(fs::read(bench.path("here/spikes/0001/trace.dat")).unwrap(), b"trace");
}

#[test]
fn a_sample_that_is_a_stretch_of_time_is_long_and_not_late() {
    let bench = ending_well(measuring());
    let ended = bench.run(&["run", "--method", "noise", "--duration", "2s", "--out", "here"]);
    let explained = bench.run(&["explain", "here"]);
    for shown in [&ended.stdout, &explained.stdout] {
        assert!(shown.contains("CPU 0, 153.2 µs long") && !shown.contains(" late"), "{shown}{}", ended.stderr);
    }
}

#[test]
fn json_is_one_document_and_nothing_else() {
    let bench = ending_well(measuring().says(&[problem(Severity::Degraded, "no tracefs", "mount it")]));
    let ended = bench.run(&["run", "--json"]);
    assert_eq!(ended.code, Some(0));
    let summary = ended.json();
    assert_eq!(summary["cpus"][0]["latency_ns"]["max"], 153_214);
    assert_eq!(summary["spikes"][0]["latency_ns"], 153_214);
    assert_eq!(summary["spikes"][0]["explanation"]["latency_ns"], 153_214);
    assert!(ended.stderr.contains("no tracefs") && ended.stderr.contains("mount it"), "{}", ended.stderr);
    let archive = summary["archive"].as_str().unwrap();
    assert!(archive.starts_with("runs/2") && bench.path(archive).join("stream.tardy").exists(), "{archive}");
}

#[test]
fn two_runs_in_one_second_get_a_directory_each() {
    let bench = ending_well(measuring());
    let paths: Vec<String> = (0..3).map(|_| bench.run(&["run", "--quiet"]).stdout.trim().to_owned()).collect();
    assert_eq!(paths.iter().collect::<std::collections::BTreeSet<_>>().len(), 3, "{paths:?}");
    assert!(paths.iter().all(|path| bench.path(path).is_dir()));
    assert_eq!(bench.run(&["list", "--json"]).json()["runs"].as_array().unwrap().len(), 3);
}

#[test]
fn an_exceeded_limit_is_code_1() {
    let bench = measuring().says(&[totals(1), end(Ending::Complete)]);
    let ended = bench.run(&["run", "--limit", "100us"]);
    assert_eq!(ended.code, Some(1), "{}", ended.stderr);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains(" 1 ") && text.contains("100.0 µs"), "{text}");
}

#[test]
fn a_meter_that_dies_is_code_3_with_its_last_words() {
    let bench = measuring().says(&[totals(0)]).does("echo 'out of luck' >&2; kill -9 $$");
    let ended = bench.run(&["run", "--out", "here"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("signal 9") && ended.stderr.contains("out of luck"), "{}", ended.stderr);
    assert_eq!(manifest_of(&bench.path("here"))["state"], "failed");
    assert!(bench.path("restored").exists(), "what the dead meter changed was put back");
    assert_eq!(bench.run(&["explain", "--json", "here"]).json()["spikes"][0]["latency_ns"], 153_214);
}

#[test]
fn garbage_on_the_line_is_counted_and_shown() {
    let bench = ending_well(measuring().writes(b"[  12.3] random: crng init done\n".to_vec()));
    let ended = bench.run(&["run"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.contains("32 bytes "), "{}", ended.stdout);
}

#[test]
fn a_meter_that_says_only_garbage_is_code_3() {
    let ended = Bench::new().writes(vec![b'x'; 100_000]).run(&["run"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("exit status 0"), "{}", ended.stderr);
}

#[test]
fn a_meter_that_hangs_is_given_up() {
    let bench = measuring().says(&[totals(0)]).does("exec sleep 1000");
    let ended = bench.run(&["run", "--meter-timeout", "300ms", "--settle", "0", "--out", "here"]);
    assert_eq!(ended.code, Some(3));
    let manifest = manifest_of(&bench.path("here"));
    assert_eq!((&manifest["state"], &manifest["problem"]["code"]), (&"failed".into(), &"run.silent".into()));
    assert!(ended.stderr.contains("0.3 s"), "{}", ended.stderr);
}

#[test]
fn a_meter_that_lacks_privileges_says_what_is_missing_and_the_fix() {
    let fix = "sudo setcap cap_sys_nice+ep dist/bin/tardy-meter";
    let bench = Bench::new()
        .says(&[hello(), problem(Severity::Invalid, "SCHED_FIFO 80 refused", fix), end(Ending::Failed)])
        .does("exit 3");
    let ended = bench.run(&["run"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains(fix) && ended.stderr.contains("SCHED_FIFO 80 refused"), "{}", ended.stderr);
    assert_eq!(fs::read_dir(bench.path("runs")).unwrap().count(), 0, "nothing was measured, so there is no archive");
    assert_eq!(bench.run(&["explain", "latest"]).code, Some(2));
    let document = bench.run(&["run", "--json"]).json();
    assert_eq!(document["error"]["text"], "SCHED_FIFO 80 refused");
    assert_eq!(document["error"]["fix"], fix);
}

#[test]
fn what_only_the_machine_knows_to_be_wrong_is_wrong_usage_as_well() {
    let problem = Message::Problem(Problem {
        code: Code::new("meter.no-such-thread"),
        severity: Severity::Invalid,
        text: "no thread is called x".into(),
        fix: "start it".into(),
    });
    let bench = Bench::new().says(&[hello(), problem, end(Ending::Failed)]).does("exit 3");
    let ended = bench.run(&["run", "--json"]);
    assert_eq!((ended.code, &ended.json()["error"]["code"]), (Some(2), &"meter.no-such-thread".into()));
}

#[test]
fn a_missing_meter_is_code_3_and_names_the_fix() {
    let bench = Bench::new();
    // A copy of the program without a meter next to it, as in some build directories.
    let lonely = bench.path("tardy");
    fs::copy(env!("CARGO_BIN_EXE_tardy"), &lonely).unwrap();
    let mut command = Command::new(&lonely);
    command.arg("run").current_dir(bench.path("")).env_remove("TARDY_METER").env("PATH", "/nowhere");
    let ended = Ended::of(command.output().unwrap());
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("make build"), "{}", ended.stderr);
    assert!(!bench.path("runs").exists(), "nothing is left behind");
}

#[test]
fn an_existing_archive_is_never_overwritten() {
    let bench = ending_well(measuring());
    assert_eq!(bench.run(&["run", "--out", "here"]).code, Some(0));
    let before = fs::read(bench.path("here/manifest.json")).unwrap();
    let ended = bench.run(&["run", "--out", "here"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("exists already") && ended.stderr.contains("--out"), "{}", ended.stderr);
    assert_eq!(fs::read(bench.path("here/manifest.json")).unwrap(), before);
}

#[test]
fn an_unwritable_out_is_code_3_and_names_the_path() {
    let ended = ending_well(measuring()).run(&["run", "--out", "/proc/nowhere/archive"]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("/proc/nowhere"), "{}", ended.stderr);
}

#[test]
fn a_disk_that_runs_full_stops_the_run_and_keeps_the_totals() {
    let bench = measuring()
        .sends(2, FileKind::SpikeTrace { spike: 2 }, &vec![7; 600_000])
        .does("read -r line; [ \"$line\" = stop ] || exit 9")
        .says(&[totals(0), end(Ending::Stopped)]);
    let tardy = bench.tardy(&["run"]);
    let mount = "mkdir small && mount -t tmpfs -o size=800k tmpfs small";
    let script = format!("{mount} || exit 77; \"$0\" run --out small/here; code=$?; cp -r small/here kept; exit $code");
    let mut command = Command::new("unshare");
    command.args(["--map-root-user", "--mount", "sh", "-c", &script]).arg(tardy.get_program());
    command.current_dir(bench.path("")).env("TARDY_METER", bench.path("meter"));
    prerequisites::require!(Program("unshare"));
    let ended = Ended::of(command.output().unwrap());
    let mounted = ended.code != Some(77) && !ended.stderr.starts_with("unshare");
    prerequisites::require!(Prepared("the right to mount in a namespace of its own", mounted));
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("spikes/0002") && ended.stderr.contains("free some space"), "{}", ended.stderr);
    assert_eq!(manifest_of(&bench.path("kept"))["state"], "failed");
    let run = archive::reader::Run::open(bench.path("kept")).unwrap();
    assert_eq!(run.threads[&0].totals.cycles, 3);
}

#[test]
fn names_from_the_target_cannot_drive_the_terminal() {
    let evil = "x\x1b]0;owned\x07\x1b[2J\r\u{9b}31m";
    let bench = ending_well(measuring().says(&[load(evil), problem(Severity::Notice, evil, evil)]).says(&[spike(
        2,
        5,
        SpikeReason::Control,
    )]));
    for words in [&["run", "--out", "here"][..], &["explain", "here"], &["list"], &["explain", "here", "--events"]] {
        let ended = bench.run(words);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        let control = |letter: &char| letter.is_control() && *letter != '\n';
        assert_eq!(shown.chars().find(control), None, "{words:?}: {shown:?}");
    }
}

#[test]
fn an_interrupt_stops_the_run_and_keeps_it() {
    let bench = measuring()
        .does("touch \"$here/measuring\"; read -r line; [ \"$line\" = stop ] || exit 9")
        .says(&[totals(0), end(Ending::Stopped)]);
    let tardy = start(bench.tardy(&["run", "--out", "here"]));
    wait_for_file(&bench.path("measuring"));
    signal(&tardy, "INT");
    let ended = Ended::of(tardy.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stdout.starts_with("Stopped early."), "{}", ended.stdout);
    assert_eq!(manifest_of(&bench.path("here"))["state"], "interrupted");
}

#[test]
fn a_second_interrupt_kills_and_names_the_fix() {
    let bench = measuring()
        .does("trap '' INT; touch \"$here/measuring\"; read -r line; touch \"$here/asked\"; exec sleep 1000");
    let tardy = start(bench.tardy(&["run", "--out", "here"]));
    wait_for_file(&bench.path("measuring"));
    signal(&tardy, "INT");
    wait_for_file(&bench.path("asked"));
    signal(&tardy, "INT");
    let ended = Ended::of(tardy.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(3), "no totals, so nothing was measured");
    let manifest = manifest_of(&bench.path("here"));
    assert_eq!(manifest["state"], "interrupted");
    assert!(ended.stderr.contains("tardy target restore"), "{}", ended.stderr);
}

#[test]
fn bare_numbers_are_refused_as_usage() {
    let ended = Bench::new().run(&["run", "--interval", "100"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("100us"), "{}", ended.stderr);
}

#[test]
fn phases_reach_the_archive() {
    let bench = ending_well(measuring());
    bench.run(&["run", "--out", "here"]);
    let run = archive::reader::Run::open(bench.path("here")).unwrap();
    let phases: Vec<RunPhase> = run.phases.iter().map(|(phase, _)| *phase).collect();
    assert_eq!(phases, [RunPhase::Prepare, RunPhase::Measure, RunPhase::Collect, RunPhase::Restore]);
}

fn start(mut command: Command) -> Child {
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn signal(child: &Child, name: &str) {
    let status = Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap();
    assert!(status.success());
}
