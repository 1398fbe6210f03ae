//! `tardy run --stimulus NAME`: two fake meters on this machine, one that answers and one that gives the stimuli.

use archive::loss::{Loss, LossKind};
use archive::manifest::RunState;
use archive::message::{Ending, Message, RunPhase, Severity};
use archive::reader::Run;
use archive::roles::RunRole;
use fixtures::fake_meter::*;
use std::fs;
use std::process::Command;
use std::time::Duration;

const WORDS: [&str; 10] = [
    "run",
    "--method",
    "serial:port=/dev/ttyS1,hops=2",
    "--stimulus",
    "local:port=/dev/ttyS2",
    "-D",
    "5s",
    "--settle",
    "1s",
    "--out=here",
];

fn begins(bench: Bench) -> Bench {
    bench.says(&[hello(), phase(RunPhase::Prepare, 1), phase(RunPhase::Measure, 2_000_000_000)])
}

fn ends(bench: Bench, ending: Ending) -> Bench {
    bench.says(&[phase(RunPhase::Collect, 7_000_000_000), totals(0), end(ending)])
}

/// Answers until it is asked to stop.
fn answers(bench: Bench) -> Bench {
    ends(begins(bench.does("touch \"$here/answering\"")).does("read -r asked"), Ending::Stopped)
}

/// The bench with a target that behaves so, and with a stimulus machine.
fn bench(target: impl FnOnce(Bench) -> Bench, stimulus: impl FnOnce(Bench) -> Bench) -> Bench {
    let both = Bench::new().where_asked("\"role\":\"answer\"", target);
    both.where_asked("\"role\":\"stimulus\"", |bench| {
        let kept = bench.does("printf '%s' \"$settings\" > \"$here/stimulus.json\"");
        stimulus(kept.does("[ -e \"$here/answering\" ] || exit 9"))
    })
}

fn opened(bench: &Bench, name: &str) -> Run {
    Run::open(bench.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn state(run: &Run) -> RunState {
    run.manifest.as_ref().unwrap().state
}

fn code_of(run: &Run) -> String {
    run.manifest.as_ref().unwrap().problem.as_ref().map_or(String::new(), |problem| problem.code.to_string())
}

fn end(ending: Ending) -> Message {
    Message::End { ending, monotonic_ns: 9_000_000_000 }
}

#[test]
fn both_machines_start_in_order_end_together_and_are_shown_together() {
    let bench = bench(answers, |bench| ends(begins(bench).does("sleep 0.3"), Ending::Complete));
    let ended = bench.run(&[&WORDS[..], &["--more"]].concat());
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "Measured by the other machine",
        "local gave the stimuli and saw the answers (serial:port=/dev/ttyS2,role=stimulus)",
        "a thread is about to write a byte",
        "Both machines are this one, with one clock.",
        "are outside of the target's samples",
    ] {
        assert!(shown.contains(expected), "{expected:?} is not in {shown}");
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);

    let stimulus: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("stimulus.json")).unwrap()).unwrap();
    assert_eq!(stimulus["duration_ns"], 5_000_000_000_u64);
    assert_eq!(stimulus["trace"]["mode"], "off");
    let (target, other) = (opened(&bench, "here"), opened(&bench, "here/stimulus"));
    assert_eq!((state(&target), state(&other)), (RunState::Complete, RunState::Complete));
    let kept = &target.roles[&RunRole::Stimulus];
    assert_eq!((kept.samples, kept.latency_ns_max, kept.state), (3, Some(153_214), RunState::Complete));
    assert_eq!(other.roles[&RunRole::Target].method.text(), "serial:hops=2,port=/dev/ttyS1,role=answer");

    let reported = bench.run(&["report", "here", "--out", "report.html"]);
    assert_eq!(reported.code, Some(0), "{}", reported.stderr);
    let page = fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(page.contains("id=\"roles\"") && page.contains("data-duration=\"of-the-other-machine\""));
    let listed = bench.run(&["list", "."]);
    assert_eq!(listed.stdout.matches("here").count(), 1, "a measurement is one entry: {}", listed.stdout);
}

#[test]
fn a_stimulus_machine_that_dies_ends_the_target_which_keeps_its_figures() {
    let bench = bench(answers, |bench| begins(bench).does("sleep 0.3; exit 7"));
    let ended = bench.run(&WORDS);
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    let target = opened(&bench, "here");
    assert_eq!((state(&target), code_of(&target).as_str()), (RunState::Interrupted, "role.ended-early"));
    assert_eq!(state(&opened(&bench, "here/stimulus")), RunState::Failed);
    assert_eq!(target.roles[&RunRole::Stimulus].state, RunState::Failed);
    assert!(ended.stderr.contains("(local)"), "{}", ended.stderr);
}

#[test]
fn a_stimulus_machine_whose_line_falls_silent_ends_the_target_which_keeps_its_figures() {
    // It reports until it is asked to stop: only the other machine is silent. What is left of its reports then takes far
    // less time than it has for ending, also on a busy machine.
    let reports = |bench: Bench| {
        let begun = begins(bench.does("touch \"$here/answering\"; exec 3<&0"));
        let listening = begun.does("( read -r asked <&3; touch \"$here/asked\" ) &");
        let pause = "[ -e \"$here/asked\" ] || sleep 0.5";
        ends((0..40).fold(listening, |bench, _| bench.says(&[progress()]).does(pause)), Ending::Stopped)
    };
    let bench = bench(reports, |bench| begins(bench).does("exec sleep 30"));
    let ended = bench.run(&[&WORDS[..], &["--meter-timeout", "3s"]].concat());
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    let target = opened(&bench, "here");
    assert_eq!((state(&target), code_of(&target).as_str()), (RunState::Interrupted, "role.ended-early"));
    assert_eq!(target.threads.values().map(|thread| thread.totals.cycles).sum::<u64>(), 3, "its figures are kept");
    assert_eq!(state(&opened(&bench, "here/stimulus")), RunState::Failed);
}

#[test]
fn a_target_that_dies_ends_the_stimuli() {
    let dies = |bench: Bench| begins(bench.does("touch \"$here/answering\"")).does("sleep 0.5; exit 7");
    let stopped = |bench| ends(begins(bench).does("read -r asked"), Ending::Stopped);
    let bench = bench(dies, stopped);
    let ended = bench.run(&WORDS);
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    let other = opened(&bench, "here/stimulus");
    assert_eq!((state(&other), code_of(&other).as_str()), (RunState::Interrupted, "role.ended-early"));
    assert_eq!(other.roles[&RunRole::Target].state, RunState::Failed);
}

#[test]
fn a_request_to_stop_ends_the_stimuli_before_the_answers() {
    let answering = |bench: Bench| {
        let asked = begins(bench.does("touch \"$here/answering\"")).does("read -r asked");
        ends(asked.does("[ -e \"$here/stopped\" ] || exit 8"), Ending::Stopped)
    };
    let bench = bench(answering, |bench| {
        let asked =
            begins(bench.does("touch \"$here/giving\"")).does("read -r asked; sleep 0.4; touch \"$here/stopped\"");
        ends(asked, Ending::Stopped)
    });
    let mut child = bench.tardy(&WORDS).spawn().unwrap();
    for _ in 0..600 {
        std::thread::sleep(Duration::from_millis(50));
        if bench.path("giving").exists() {
            break;
        }
    }
    std::thread::sleep(Duration::from_millis(300));
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    child.wait().unwrap();
    for name in ["here", "here/stimulus"] {
        assert_eq!(state(&opened(&bench, name)), RunState::Interrupted, "{name}");
    }
}

#[test]
fn without_a_signal_at_the_stimulus_machine_the_run_is_not_valid() {
    let lost = Loss { kind: LossKind::Answers, count: 4, detail: String::new() };
    let silent = move |bench: Bench| {
        begins(bench).says(&[phase(RunPhase::Collect, 7_000_000_000), Message::Loss(lost), end(Ending::Complete)])
    };
    let bench = bench(answers, silent);
    let ended = bench.run(&WORDS);
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stdout.contains("4 stimuli "), "{}", ended.stdout);
}

#[test]
fn a_stimulus_machine_that_cannot_start_leaves_its_reason_and_no_archive() {
    let refuses = |bench: Bench| {
        let no_port = problem(Severity::Invalid, "there is no /dev/ttyS2", "plug it in");
        bench.says(&[hello(), no_port, end(Ending::Failed)])
    };
    let bench = bench(answers, refuses);
    let ended = bench.run(&WORDS);
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stderr.contains("there is no /dev/ttyS2; plug it in"), "{}", ended.stderr);
    assert!(!bench.path("here").exists(), "nothing was measured");
}

#[test]
fn what_cannot_be_divided_is_refused_before_a_meter_starts() {
    let bench = bench(answers, answers);
    for (words, named) in [
        (["--method", "serial:port=/dev/ttyS1", "--stimulus", "nowhere:port=/dev/ttyS2"], "nowhere"),
        (["--method", "semaphore", "--stimulus", "local"], "semaphore has one machine"),
        (["--method", "ethernet:interface=eth0", "--stimulus", "local"], "the stimulus machine needs interface="),
    ] {
        let ended = bench.run(&[&["run", "--out", "here"][..], &words].concat());
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(named), "{words:?}: {}", ended.stderr);
    }
    assert!(!bench.path("settings.json").exists() && !bench.path("here").exists());
}

const PLAN: &str = "\
[measurement]
method = \"serial:port=/dev/ttyS1\"
stimulus = \"local:port=/dev/ttyS2\"
duration = \"5s\"
[[limits]]
limit = \"latency < 1us\"
role = \"stimulus\"
[verdict]
accept = [\"virtual\", \"non-rt\"]
";

#[test]
fn a_plan_starts_both_and_judges_the_machine_that_its_limit_names() {
    let bench = bench(answers, |bench| ends(begins(bench).does("sleep 0.3"), Ending::Complete));
    fs::write(bench.path("p.toml"), PLAN).unwrap();
    let ended = bench.run(&["run", "p.toml", "--out", "round", "--json"]);
    let step = &ended.json()["steps"][0];
    assert_eq!((&step["state"], &step["cycles"]), (&"done".into(), &3.into()), "{}{}", ended.stdout, ended.stderr);
    assert_eq!((&step["stimulus"]["target"], &step["stimulus"]["cycles"]), (&"local".into(), &3.into()));
    assert_eq!(step["judgements"].as_array().map(Vec::len), Some(0), "the limit is not the target's");
    let of_stimulus = &step["stimulus"]["judgements"][0];
    assert_eq!(of_stimulus["limit"]["text"], "latency < 1us");
    // The fake meter keeps no seconds, which a verdict needs.
    assert_eq!((&step["verdict"], ended.code), (&of_stimulus["verdict"], Some(3)), "{step}");
    let archive = step["archive"].as_str().unwrap();
    let judged = bench.run(&["judge", &format!("{archive}/stimulus"), "--json"]).json();
    assert_eq!(judged["judgements"][0]["limit"]["text"], "latency < 1us", "the archive has its limit: {judged}");
    let shown = bench.run(&["run", "--resume", "round"]);
    assert!(shown.stdout.to_lowercase().matches("by local").count() >= 2, "{}", shown.stdout);
}

#[test]
fn a_limit_of_two_machines_needs_the_one_that_it_is_for() {
    let bench = bench(answers, answers);
    let check = |text: String| {
        fs::write(bench.path("p.toml"), text).unwrap();
        let ended = bench.run(&["lab", "plan", "check", "p.toml"]);
        assert_eq!(ended.code, Some(2), "{}", ended.stdout);
        ended.stdout + &ended.stderr
    };
    let unnamed = check(PLAN.replace("role = \"stimulus\"\n", ""));
    assert!(unnamed.contains("p.toml:6") && unnamed.contains("needs a `role`"), "{unnamed}");
    let wrong = check(PLAN.replace("role = \"stimulus\"", "role = \"logger\""));
    assert!(wrong.contains("p.toml:7") && wrong.contains("`logger`"), "{wrong}");
    let alone = check(PLAN.replace("stimulus = \"local:port=/dev/ttyS2\"\n", ""));
    assert!(alone.contains("p.toml:5") && alone.contains("`stimulus`"), "{alone}");
}
