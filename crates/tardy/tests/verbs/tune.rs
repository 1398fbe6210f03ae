//! `tardy tune` against a fake meter whose latency depends on its settings: a helps, b helps only beside a, h harms, the
//! others do nothing, and the kernel refuses r.

use archive::energy::EnergyUse;
use archive::message::Message;
use fixtures::fake_meter::*;
use serde_json::Value;
use std::fs;

const NAMES: [&str; 7] = ["a", "b", "h", "u", "v", "w", "r"];
/// Latency in ns by whether a, b and h are on.
const LEVELS: [(&str, i64); 8] = [
    ("000", 2000),
    ("100", 1500),
    ("010", 2000),
    ("110", 1000),
    ("001", 3000),
    ("101", 2300),
    ("011", 3000),
    ("111", 1600),
];

fn machine() -> Bench {
    let bench = Bench::scripted(
        "#!/bin/sh\n\
         here=$(dirname \"$0\")\n\
         case \"$1\" in\n\
         apply) read -r line; cat \"$here/answer.json\"; exit ;;\n\
         restore) echo restored >> \"$here/restored\"; exit ;;\n\
         esac\n\
         read -r settings\n\
         on() { case \"$settings\" in *\"/proc/sys/kernel/$1\\\"\"*) printf 1;; *) printf 0;; esac; }\n\
         echo run >> \"$here/runs\"\n\
         [ -e \"$here/interrupt\" ] && [ \"$(wc -l < \"$here/runs\")\" = 30 ] && kill -INT $PPID && sleep 1\n\
         cat \"$here/at-$(on a)$(on b)$(on h)\"\n",
    );
    for (on, latency_ns) in LEVELS {
        // Setting a costs power.
        let uj = if on.starts_with('1') { 12_000_000 } else { 10_000_000 };
        let used = Message::Energy(vec![EnergyUse { source: "package-0".into(), uj, over_ns: 1_000_000_000 }]);
        fs::write(bench.path(&format!("at-{on}")), all_said_with(latency_ns, &[used])).unwrap();
    }
    let applied = |name: &str| {
        let problem = (name == "r").then_some("Invalid argument");
        serde_json::json!({ "path": format!("/proc/sys/kernel/{name}"), "value": "1", "before": "0", "problem": problem })
    };
    bench.keep("answer.json", &serde_json::json!(NAMES.map(applied)).to_string());
    bench
}

fn words(out: &str) -> Vec<String> {
    let candidates = NAMES.iter().flat_map(|name| ["--candidate".to_owned(), format!("{name}: kernel.{name}=1")]);
    let others = ["--only-candidates", "--goal", "p50", "--duration", "5s", "--coin-seed", "7", "--out", out];
    ["tune".to_owned()].into_iter().chain(candidates).chain(others.map(str::to_owned)).collect()
}

fn run(bench: &Bench, words: &[String]) -> Ended {
    bench.run(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

fn document(bench: &Bench, directory: &str) -> Value {
    serde_json::from_slice(&fs::read(bench.path(directory).join("tune.json")).unwrap()).unwrap()
}

fn members(document: &Value) -> Vec<u64> {
    let members = document["result"]["members"].as_array().unwrap();
    members.iter().map(|member| member["candidate"].as_u64().unwrap()).collect()
}

#[test]
fn the_settings_that_help_are_found_with_their_effects_and_files() {
    let bench = machine();
    let ended = run(&bench, &words("here"));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "p50: 2.0 µs before, 1.0 µs with 2 of 6 settings",
        "b helps only together with a",
        "price all of them: power of package-0 +20.0 %",
        "harmful h seems",
        "useless u, v, w change it by less than 10 %",
        "not tried r: the kernel refused it (Invalid argument)",
        "tardy tune --apply here",
    ] {
        assert!(text.contains(expected), "{expected} is not in {}", ended.stdout);
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    assert_eq!(fs::read_to_string(bench.path("restored")).unwrap(), "restored\n", "each was set once and restored");
    let document = document(&bench, "here");
    assert_eq!((members(&document), document["result"]["undecided"].as_array().unwrap().len()), (vec![0, 1], 0));
    let file = fs::read_to_string(bench.path("here/90-tardy-tune.conf")).unwrap();
    let mut lines: Vec<&str> = file.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["kernel.a = 1", "kernel.b = 1"]);
    let page = fs::read_to_string(bench.path("here/tune.html")).unwrap();
    assert!(page.contains("p50: 2.0 µs before") && page.contains("without b"), "{page}");
    assert_eq!(page.matches("<svg").count(), 2, "the figures of each step, and the curves before and after");
    assert_eq!(run(&bench, &["tune", "--resume", "here"].map(str::to_owned)).stdout, ended.stdout);
    let applied = run(&bench, &["tune", "--apply", "here"].map(str::to_owned));
    assert_eq!(applied.code, Some(3), "the answer of this meter has a refused change: {}", applied.stdout);
    assert!(applied.stdout.contains("tardy tune --undo here"), "{}", applied.stdout);
}

#[test]
fn a_virtual_machine_gets_the_changes_in_its_file_and_loses_them_again() {
    let bench = machine();
    assert_eq!(run(&bench, &words("here")).code, Some(0));
    // As if the series had been measured there.
    let journal = fs::read_to_string(bench.path("here/tune.json")).unwrap();
    let journal = journal.replace("\"target\": \"local\"", "\"target\": \"vm\"");
    fs::write(bench.path("here/tune.json"), journal).unwrap();
    fs::create_dir(bench.path("targets")).unwrap();
    let file = bench.path("targets/vm.toml");
    let before = "# Mine.\nbackend = \"qemu\"\nkernel = \"/k\"\nsettings = [\"/proc/sys/kernel/a=0\"]\n";
    fs::write(&file, before).unwrap();
    let tune = |option: &str| bench.run(&["tune", option, "here"]);
    let refused = tune("--undo");
    assert_eq!(
        (refused.code, refused.stderr.contains("tardy tune --apply here")),
        (Some(2), true),
        "{}",
        refused.stderr
    );
    let applied = tune("--apply");
    assert_eq!(applied.code, Some(0), "{}{}", applied.stdout, applied.stderr);
    assert!(applied.stdout.contains("settings with /proc/sys/kernel/a=1"), "{}", applied.stdout);
    let changed = fs::read_to_string(&file).unwrap();
    assert!(changed.contains("a=1\"") && changed.contains("b=1\"") && !changed.contains("a=0"), "{changed}");
    assert!(tune("--apply").stderr.contains("tardy tune --undo here"));
    fs::write(&file, format!("{changed}# Edited.\n")).unwrap();
    let refused = tune("--undo");
    assert_eq!((refused.code, refused.stderr.contains("vm.toml")), (Some(2), true), "{}", refused.stderr);
    assert!(fs::read_to_string(&file).unwrap().ends_with("# Edited.\n"), "the file of the user stays");
    fs::write(&file, changed).unwrap();
    let undone = tune("--undo");
    assert_eq!(undone.code, Some(0), "{}", undone.stderr);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
}

#[test]
fn firmware_settings_are_listed_as_not_tried_where_a_boot_ends_the_series() {
    let bench = machine();
    let ended = run(&bench, &[words("here"), vec!["--firmware".into()]].concat());
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("firmware.smt"), "{text}");
    assert_eq!(document(&bench, "here")["state"], "complete", "{text}");
}

#[test]
fn an_interrupted_series_continues_to_the_same_result() {
    let bench = machine();
    let whole = run(&bench, &words("whole"));
    assert_eq!(whole.code, Some(0), "{}", whole.stderr);
    fs::remove_file(bench.path("runs")).unwrap();
    bench.keep("interrupt", "");
    let cut = run(&bench, &words("cut"));
    assert_eq!(document(&bench, "cut")["state"], "interrupted", "{}{}", cut.stdout, cut.stderr);
    assert!(cut.stdout.contains("tardy tune --resume cut"), "{}", cut.stdout);
    let continued = run(&bench, &["tune", "--resume", "cut"].map(str::to_owned));
    assert_eq!(continued.code, Some(0), "{}{}", continued.stdout, continued.stderr);
    assert_eq!(members(&document(&bench, "cut")), members(&document(&bench, "whole")));
}

#[test]
fn a_budget_that_is_too_small_decides_nothing_and_says_so() {
    let bench = machine();
    let ended = run(&bench, &[words("here"), ["--budget", "1us"].map(str::to_owned).to_vec()].concat());
    assert_eq!(ended.code, Some(4), "{}{}", ended.stdout, ended.stderr);
    assert_eq!(document(&bench, "here")["result"]["undecided"].as_array().unwrap().len(), 6);
}

#[test]
fn questions_without_an_answer_are_refused_before_a_run() {
    let bench = machine();
    for (words, expected) in [
        (&["tune", "--goal", "p98"][..], "p99.9"),
        (&["tune", "--goal", "over/h"], "--limit"),
        (&["tune", "--goal", "p99.9", "--duration", "10s"], "--duration 50s"),
        (&["tune", "--duration", "60s", "--candidate", "kernel.a=1"], "NAME: PATH=VALUE"),
        (&["tune", "--resume", "nowhere"], "tune.json"),
    ] {
        let ended = bench.run(words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(expected), "{words:?}: {}", ended.stderr);
    }
    assert!(!bench.path("runs").exists());
}
