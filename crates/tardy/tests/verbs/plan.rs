//! `tardy lab plan`, and `tardy run PLAN` against a fake meter: steps, verdicts, and which steps are kept or repeated.

use archive::environment::Environment;
use archive::message::{Ending, Message, RunPhase, Severity};
use archive::reader::Run;
use archive::sample::{Second, Totals};
use fixtures::fake_meter::*;
use fixtures::repository::repository_path;
use fixtures::waiting::{wait_for_file, wait_until};
use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

const TWO_STEPS: &str = "loads = [\"none\", \"messaging\"]\n[measurement]\nduration = \"2s\"\n";

fn plans() -> PathBuf {
    repository_path("plans")
}

fn flowing(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A bench with a plan `x.toml` in it.
fn with_plan(bench: Bench, plan: &str) -> Bench {
    fs::write(bench.path("x.toml"), plan).unwrap();
    bench
}

/// A meter that logs the requested loads, and sends other output with a load.
fn by_load(with_load: &str) -> Bench {
    ending_well(measuring().does(&format!(
        "case \"$settings\" in *messaging*) echo messaging >> \"$here/asked\"; {with_load};; \
         *) echo none >> \"$here/asked\";; esac"
    )))
}

fn real_time() -> Environment {
    Environment { preempt_rt: Some(true), virtualisation: Some("none".into()), ..Environment::default() }
}

/// A meter that measured for hours on a real machine, with a wake-up this late every `often` seconds.
fn hours(late_ns: i64, often: u32) -> Bench {
    hours_on(real_time(), late_ns, often)
}

fn hours_on(machine: Environment, late_ns: i64, often: u32) -> Bench {
    let seconds: u32 = 4 * 3600;
    let is_late = |second: u32| often > 0 && second % often == 7;
    let second = |second: u32| Second {
        second,
        cycles: 1000,
        latency_ns_max: if is_late(second) { late_ns } else { 1000 },
        ..Second::default()
    };
    let totals = Totals { cycles: u64::from(seconds) * 1000, latency_ns_max: Some(late_ns), ..Totals::default() };
    let end_ns = i64::from(seconds) * 1_000_000_000;
    let reported: Vec<Message> =
        (0..seconds).map(second).collect::<Vec<_>>().chunks(3600).map(|part| Message::Seconds(part.into())).collect();
    Bench::new()
        .says(&[hello(), Message::Environment(Box::new(machine)), phase(RunPhase::Measure, 0)])
        .says(&reported)
        .says(&[
            phase(RunPhase::Collect, end_ns),
            Message::Thread { thread: 0, cpu: 0, totals, histogram: Default::default(), worst: Vec::new() },
            end(Ending::Complete),
        ])
}

#[test]
fn every_plan_that_comes_along_is_sound_and_documented() {
    let document = fs::read_to_string(plans().join("../docs/how-to/plans.md")).unwrap();
    let mut checked = Vec::new();
    for entry in fs::read_dir(plans()).unwrap() {
        let path = entry.unwrap().path();
        let ended = Bench::new().run(&["lab", "plan", "check", "--json", path.to_str().unwrap()]);
        assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(document.contains(&format!("`plans/{name}`")), "docs/how-to/plans.md does not name {name}");
        let shipped = Bench::new().run(&["lab", "plan", "check", "--json", &format!("plans/{name}")]);
        assert_eq!(shipped.json()[0]["steps"], ended.json()[0]["steps"], "{}", shipped.stderr);
        checked.push((name, ended.json()[0]["steps"].as_u64().unwrap()));
    }
    checked.sort();
    let expected = [
        ("founding-talk.toml", 1),
        ("osadl.toml", 1),
        ("overnight.toml", 4),
        ("smoke.toml", 1),
        ("storage-study.toml", 16),
        ("three-kernels.toml", 3),
    ];
    assert_eq!(checked, expected.map(|(name, steps)| (name.to_owned(), steps)));
}

#[test]
fn the_founding_case_asks_for_what_the_talk_did() {
    let path = plans().join("founding-talk.toml");
    let shown = Bench::new().run(&["lab", "plan", "show", "--json", path.to_str().unwrap()]).json();
    let settings = &shown["steps"][0]["settings"];
    assert_eq!(
        (settings["interval_ns"].as_u64(), settings["duration_ns"].as_u64()),
        (Some(10_000_000), Some(3_600_000_000_000))
    );
    assert_eq!((settings["policy"].as_str(), settings["priority"].as_u64()), (Some("fifo"), Some(50)));
    assert_eq!(settings["trace"]["tracer"]["name"], "function");
    assert_eq!(settings["trace"]["threshold_ns"], 1_000_000);
    assert_eq!(settings["settings"][0]["path"], "/proc/sys/kernel/sched_rt_runtime_us");
    assert_eq!(
        (settings["settings"][0]["value"].as_str(), shown["steps"][0]["load"].as_str()),
        (Some("-1"), Some("dentry:8"))
    );
    let osadl =
        Bench::new().run(&["lab", "plan", "show", "--json", plans().join("osadl.toml").to_str().unwrap()]).json();
    assert_eq!(osadl["measured_ns"], 20_000_000_000_000u64, "5 h 33 min 20 s");
}

#[test]
fn plans_that_come_along_run_on_another_target_and_shorter() {
    for name in ["founding-talk", "osadl", "overnight", "smoke"] {
        let bench = ending_well(measuring().says(&[Message::Environment(Box::new(real_time()))]));
        let path = plans().join(name).with_extension("toml");
        let words = ["run", path.to_str().unwrap(), "--target", "local", "--duration", "2s", "--out", "here", "--json"];
        let ended = bench.run(&words);
        let document = ended.json();
        let steps = document["steps"].as_array().unwrap();
        assert!(steps.iter().all(|step| step["state"] == "done"), "{name}: {document}");
        let settings: serde_json::Value =
            serde_json::from_slice(&fs::read(bench.path("settings.json")).unwrap()).unwrap();
        assert_eq!(settings["duration_ns"], 2_000_000_000u64, "{name}");
        // Without a limit nothing is judged; three samples are too few to judge by one.
        let code = if name == "osadl" { 0 } else { 3 };
        assert_eq!(ended.code, Some(code), "{name}: {document}");
    }
    let kernels = plans().join("three-kernels.toml");
    let ended = Bench::new().run(&["run", kernels.to_str().unwrap(), "--target", "local"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("three-kernels.toml:13: "), "{}", ended.stderr);
}

#[test]
fn mistakes_are_named_with_their_lines() {
    let bench = with_plan(Bench::new(), "target = [\"vm\"]\n[measurement]\nintervall = \"1ms\"\nduration = 5\n");
    let ended = bench.run(&["lab", "plan", "check", "x.toml"]);
    assert_eq!(ended.code, Some(2));
    for line in [
        "x.toml:1: `target` is not a key of a plan; did you mean `targets`?",
        "x.toml:3: `intervall` is not a key of [measurement]; did you mean `interval`?",
        "x.toml:4: duration: `5` has no unit",
    ] {
        assert!(ended.stdout.contains(line), "{line:?} is not in {}", ended.stdout);
    }
    let ended = bench.run(&["run", "x.toml"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("x.toml:3:") && ended.stderr.contains("cannot be run"), "{}", ended.stderr);
    assert!(!bench.path("runs").exists());
    let bench = with_plan(Bench::new(), "targets = [\"nowhere\"]");
    assert_eq!(
        bench.run(&["lab", "plan", "check", "x.toml"]).code,
        Some(0),
        "a plan is sound on a machine that lacks its target"
    );
    let ended = bench.run(&["run", "x.toml", "--out", "here"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("tardy target add nowhere"), "{}", ended.stderr);
}

#[test]
fn a_target_file_that_cannot_be_read_is_a_problem_of_the_plan() {
    let bench = with_plan(Bench::new(), "targets = [\"torn\"]");
    fs::create_dir(bench.path("targets")).unwrap();
    fs::write(bench.path("targets/torn.toml"), "backend = \"ssh\"\naddress =").unwrap();
    for words in [&["lab", "plan", "check", "x.toml", "--json"][..], &["run", "x.toml", "--out", "here", "--json"]] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
    }
    let checked = bench.run(&["lab", "plan", "check", "x.toml", "--json"]).json();
    assert!(checked[0]["problems"][0]["text"].as_str().unwrap().contains("targets/torn.toml"), "{checked}");
}

#[test]
fn a_new_plan_is_sound_and_overwrites_nothing() {
    let bench = Bench::new();
    assert_eq!(bench.run(&["lab", "plan", "new", "mine.toml"]).code, Some(0));
    let checked = bench.run(&["lab", "plan", "check", "mine.toml"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    assert!(checked.stdout.contains("mine.toml") && checked.stdout.contains(" 2 steps, 2 min "), "{}", checked.stdout);
    let again = bench.run(&["lab", "plan", "new", "mine.toml"]);
    assert_eq!(again.code, Some(2));
    assert!(again.stderr.contains("exists already"), "{}", again.stderr);
    let shown = bench.run(&["lab", "plan", "show", "mine.toml"]);
    assert!(shown.stdout.contains("[[limits]]") && shown.stdout.contains("messaging"), "{}", shown.stdout);
}

#[test]
fn steps_without_limits_are_measured_and_pass_nothing() {
    let bench = with_plan(by_load(":"), TWO_STEPS);
    let ended = bench.run(&["run", "x.toml", "--out", "here"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stdout.contains("PASS"), "{}", ended.stdout);
    assert!(ended.stdout.contains("x: measured 2 steps;"), "{}", ended.stdout);
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let run = Run::open(bench.path("here/02-local-messaging")).unwrap();
    assert!(run.gaps.is_empty(), "{:?}", run.gaps);
    let planned = run.planned.unwrap();
    assert_eq!((planned.plan.as_str(), planned.step, planned.steps), ("x", 2, 2));
    assert_eq!((planned.text.as_str(), planned.load.as_str()), (TWO_STEPS, "messaging"));
    assert_eq!(fs::read_to_string(bench.path("here/plan.toml")).unwrap(), TWO_STEPS);
    assert_eq!(bench.run(&["list", "here", "--json"]).json()["runs"].as_array().unwrap().len(), 2);
    let full = bench.run(&["run", "x.toml", "--out", "here"]);
    assert_eq!(full.code, Some(2), "nothing is overwritten");
    assert!(full.stderr.contains("--resume here"), "{}", full.stderr);
}

#[test]
fn verdicts_come_from_the_limits_and_the_archive_repeats_them() {
    let plan = "[[limits]]\nlimit = \"latency < 100us\"\nallow = \"1/h\"\n";
    for (bench, allow, code, word) in [
        (hours(50_000, 0), "1/h", 0, "PASS"),
        (hours(200_000, 300), "1/h", 1, "FAIL"),
        (hours(50_000, 0), "1/day", 4, "NOT ENOUGH DATA"),
    ] {
        let bench = with_plan(bench, &plan.replace("1/h", allow));
        let ended = bench.run(&["run", "x.toml", "--out", "here"]);
        assert_eq!(ended.code, Some(code), "{word}: {}{}", ended.stdout, ended.stderr);
        assert!(ended.stdout.contains(&format!("x: {word}.")), "{}", ended.stdout);
        assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
        let judged = bench.run(&["judge", "here/01-local-no-load"]);
        assert_eq!(judged.code, Some(code), "{}", judged.stdout);
        assert!(
            judged.stdout.contains("latency < 100us, ") && judged.stdout.contains(&format!(" {allow} ")),
            "{}",
            judged.stdout
        );
        let shown = bench.run(&["run", "--resume", "here", "--json"]);
        assert_eq!(shown.code, Some(code), "a round that is complete is shown again");
        assert_eq!(shown.json()["steps"][0]["judgements"][0]["limit"]["allow"]["text"], allow);
    }
}

#[test]
fn a_machine_in_doubt_passes_only_when_the_plan_says_so() {
    let guest = Environment { virtualisation: Some("kvm".into()), preempt_rt: Some(true), ..Environment::default() };
    let plan = "[[limits]]\nlimit = \"latency < 100us\"\n";
    let bench = with_plan(hours_on(guest, 50_000, 0), plan);
    let refused = bench.run(&["run", "x.toml", "--out", "here"]);
    assert_eq!(refused.code, Some(3), "{}", refused.stdout);
    assert!(flowing(&refused.stdout).contains("NO VERDICT: "), "{}", refused.stdout);
    let bench = with_plan(bench, &format!("{plan}[verdict]\naccept = [\"virtual\"]\n"));
    let accepted = bench.run(&["run", "x.toml", "--out", "there"]);
    assert_eq!(accepted.code, Some(0), "{}", accepted.stdout);
    assert!(accepted.stdout.contains("(kvm)"), "{}", accepted.stdout);
}

#[test]
fn a_step_that_breaks_is_an_error_stops_none_and_is_repeated() {
    let broken = by_load("[ -e \"$here/repaired\" ] || { echo out of luck >&2; kill -9 $$; }");
    let plan = TWO_STEPS.replace("\"none\", \"messaging\"", "\"messaging\", \"none\"");
    let bench = with_plan(broken, &plan);
    let ended = bench.run(&["run", "x.toml", "--out", "here"]);
    assert_eq!(ended.code, Some(3), "an error is no failure: {}", ended.stdout);
    assert!(flowing(&ended.stdout).contains("signal 9"), "{}", ended.stdout);
    assert!(ended.stdout.contains("tardy run --resume here"), "{}", ended.stdout);
    assert_eq!(fs::read_to_string(bench.path("asked")).unwrap(), "messaging\nnone\n");
    fs::write(bench.path("repaired"), "").unwrap();
    let resumed = bench.run(&["run", "--resume", "here", "--json"]);
    assert_eq!(
        fs::read_to_string(bench.path("asked")).unwrap(),
        "messaging\nnone\nmessaging\n",
        "what is done is kept"
    );
    assert_eq!(resumed.code, Some(0), "{}", resumed.stdout);
    let document = resumed.json();
    assert_eq!(document["steps"][0]["archive"], "here/01-local-messaging.2");
    assert_eq!(manifest_of(&bench.path("here/01-local-messaging"))["state"], "failed", "the broken one is kept, too");
}

#[test]
fn an_invalid_run_is_an_error_of_its_step() {
    let bench = ending_well(measuring().says(&[problem(Severity::Invalid, "messaging died", "")]));
    let bench = with_plan(bench, "[[limits]]\nlimit = \"latency < 1us\"\n");
    let ended = bench.run(&["run", "x.toml", "--out", "here"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stdout.contains("ERROR") && ended.stdout.contains("messaging died"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("FAIL"), "{}", ended.stdout);
}

/// A meter that measures with a load until it is asked to stop, unless there is a file `repaired`.
fn stopping() -> Bench {
    let bench = measuring()
        .does("case \"$settings\" in *messaging*) load=messaging;; *) load=none;; esac; echo $load >> \"$here/asked\"")
        .does("if [ $load = messaging ] && ! [ -e \"$here/repaired\" ]; then touch \"$here/measuring\"; read -r line")
        .says(&[totals(0), end(Ending::Stopped)])
        .does("exit 0; fi");
    ending_well(bench)
}

#[test]
fn an_interrupt_ends_the_round_and_resume_does_the_rest() {
    let plan = TWO_STEPS.replace("\"none\", \"messaging\"", "\"messaging\", \"none\"");
    let bench = with_plan(stopping(), &plan);
    let command =
        bench.tardy(&["run", "x.toml", "--out", "here"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let tardy = command.unwrap();
    wait_for_file(&bench.path("measuring"));
    signal(&tardy, "INT");
    let ended = Ended::of(tardy.wait_with_output().unwrap());
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stdout.contains("stopped") && ended.stdout.contains("not run"), "{}", ended.stdout);
    assert_eq!(fs::read_to_string(bench.path("asked")).unwrap(), "messaging\n");
    fs::write(bench.path("repaired"), "").unwrap();
    let resumed = bench.run(&["run", "--resume", "here"]);
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(fs::read_to_string(bench.path("asked")).unwrap(), "messaging\nmessaging\nnone\n");
}

#[test]
fn a_killed_round_goes_on() {
    let wait = "[ -e \"$here/repaired\" ] || { touch \"$here/measuring\"; exec sleep 60; }";
    let bench = with_plan(by_load(wait), TWO_STEPS);
    let mut tardy =
        bench.tardy(&["run", "x.toml", "--out", "here"]).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_file(&bench.path("measuring"));
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    fs::write(bench.path("repaired"), "").unwrap();
    let resumed = bench.run(&["run", "--resume", "here", "--json"]);
    assert_eq!(resumed.code, Some(0), "{}{}", resumed.stdout, resumed.stderr);
    assert_eq!(fs::read_to_string(bench.path("asked")).unwrap(), "none\nmessaging\nmessaging\n");
    assert_eq!(resumed.json()["steps"][1]["archive"], "here/02-local-messaging.2");
}

#[test]
fn rounds_go_on_after_one_that_failed() {
    let bench = by_load("[ -e \"$here/failed\" ] || { touch \"$here/failed\"; kill -9 $$; }");
    let bench = with_plan(bench, TWO_STEPS);
    let ended = bench.run(&["run", "x.toml", "--every", "1s", "--rounds", "2", "--out", "rounds"]);
    assert_eq!(ended.code, Some(3), "the gravest round counts: {}", ended.stdout);
    assert_eq!(ended.stdout.matches(" UTC.").count(), 1, "{}", ended.stdout);
    assert!(
        ended.stdout.contains("x: ERROR in 1 of 2 steps.") && ended.stdout.contains("x: measured 2 steps"),
        "{}",
        ended.stdout
    );
    assert_eq!(fs::read_dir(bench.path("rounds")).unwrap().count(), 2);
    assert_eq!(fs::read_to_string(bench.path("asked")).unwrap(), "none\nmessaging\nnone\nmessaging\n");
}

/// Endless rounds, whose output goes to the files `said` and `complained`.
fn rounds(bench: &Bench, every: &str, out: &str) -> Child {
    let file = |name: &str| fs::File::create(bench.path(name)).unwrap();
    let mut command = bench.tardy(&["run", "x.toml", "--every", every, "--out", out]);
    command.stdout(file("said")).stderr(file("complained")).spawn().unwrap()
}

#[test]
fn a_signal_ends_the_rounds_in_one_and_between_two() {
    for (meter, shown, code) in [(stopping(), "stopped", 3), (ending_well(measuring()), "The next round begins", 0)] {
        let bench = with_plan(meter, &TWO_STEPS.replace("\"none\", \"messaging\"", "\"messaging\", \"none\""));
        let mut tardy = rounds(&bench, "1h", "rounds");
        let said = || fs::read_to_string(bench.path("said")).unwrap();
        wait_until("a step measures", || bench.path("measuring").exists() || said().contains(shown));
        signal(&tardy, "TERM");
        assert_eq!(tardy.wait().unwrap().code(), Some(code), "{}", said());
        assert!(said().contains(shown), "{}", said());
        assert_eq!(fs::read_dir(bench.path("rounds")).unwrap().count(), 1);
    }
}

#[test]
fn a_full_disk_spoils_a_round_and_not_those_after_it() {
    let bench = with_plan(ending_well(measuring()), TWO_STEPS);
    let disk = bench.path("disk");
    fs::create_dir(&disk).unwrap();
    let with_disk = |words: &[&str]| Command::new(words[0]).args(&words[1..]).arg(&disk).status();
    let mounted = with_disk(&["mount", "-t", "tmpfs", "-o", "size=8m", "none"]).is_ok_and(|status| status.success());
    prerequisites::require!(Prepared("the right to mount", mounted));
    fs::write(disk.join("others"), vec![0; 9 << 20]).unwrap_err();
    let mut tardy = rounds(&bench, "500ms", "disk/rounds");
    let text = |name: &str| fs::read_to_string(bench.path(name)).unwrap();
    wait_until("round 2 fails", || text("complained").contains("round 2: failed to "));
    let left = fs::read_dir(disk.join("rounds")).unwrap().count();
    fs::remove_file(disk.join("others")).unwrap();
    wait_until("the plan is measured", || text("said").contains("x: measured 2 steps"));
    signal(&tardy, "TERM");
    let code = tardy.wait().unwrap().code();
    with_disk(&["umount"]).unwrap();
    let complained = text("complained");
    assert_eq!(code, Some(3), "{complained}");
    assert!(complained.contains("free some space"), "{complained}");
    assert!(complained.lines().all(|line| line.matches("No space left").count() == 1), "{complained}");
    assert!(left <= 1, "what could not be begun leaves nothing but the one that is being tried");
}

#[test]
fn keys_of_a_plan_are_refused_as_options() {
    let bench = with_plan(ending_well(measuring()), TWO_STEPS);
    fs::create_dir(bench.path("empty")).unwrap();
    for (words, expected) in [
        (&["run", "x.toml", "--priority", "90"][..], "set --priority in the plan file"),
        (&["run", "x.toml", "-b", "1ms"], "leave out --limit with a plan: [[limits]]"),
        (&["run", "--resume", "empty"], "round.json"),
        (&["run", "--resume", "empty", "--every", "1h"], "PLAN"),
        (&["run", "--every", "1h"], "PLAN"),
        (&["run", "absent.toml"], "failed to read the plan absent.toml"),
        (&["lab", "plan", "show", "absent.toml"], "`tardy lab plan new absent.toml` writes a template"),
    ] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
    assert!(!bench.path("runs").exists());
}

#[test]
fn names_in_a_plan_cannot_drive_the_terminal() {
    let evil = "about = \"a\\u001b[2Jb\"\n[[variants]]\nname = \"\\u001b]0;owned\\u0007\"\n";
    let bench = with_plan(ending_well(measuring()), evil);
    for words in [&["lab", "plan", "show", "x.toml"][..], &["run", "x.toml", "--out", "here"]] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        let shown = format!("{}{}", ended.stdout, ended.stderr);
        assert_eq!(shown.chars().find(|letter| letter.is_control() && *letter != '\n'), None, "{shown:?}");
    }
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args(["-s", name, &child.id().to_string()]).status().unwrap().success());
}
