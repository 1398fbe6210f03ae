//! `tardy check` with a meter that reports saved facts.

use archive::facts::{Fact, Facts};
use fixtures::fake_meter::{Bench, Ended};
use fixtures::repository::repository_path;
use serde_json::Value;
use std::fs;

const SCRIPT: &str = "#!/bin/sh\n\
    here=$(dirname \"$0\")\n\
    case \"$1\" in\n\
    facts) cat \"$here/facts.json\" ;;\n\
    apply) read -r line; printf '%s' \"$line\" > \"$here/asked.json\"; cat \"$here/answer.json\"; mv \"$here/changed.json\" \"$here/facts.json\" ;;\n\
    *) exit 2 ;;\n\
    esac\n";
const COMPACT: &str = "/proc/sys/vm/compact_unevictable_allowed";

/// A machine with these facts.
fn machine(facts: &Facts) -> Bench {
    let bench = Bench::scripted(SCRIPT);
    bench.keep("facts.json", &serde_json::to_string(facts).unwrap());
    bench
}

fn check(bench: &Bench, words: &[&str]) -> Ended {
    bench.run(&[&["check"], words].concat())
}

fn facts(name: &str) -> Facts {
    let path = repository_path("corpus/readiness").join(name).with_extension("json");
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

#[test]
fn a_machine_that_is_well_set_ends_with_code_0() {
    let ended = check(&machine(&facts("well-set")), &[]);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("0 severe, 0 warnings"), "{}", ended.stdout);
}

#[test]
fn findings_are_reported_in_every_form_and_end_with_code_1() {
    let bench = machine(&facts("ordinary"));
    let text = check(&bench, &["--cpus", "1"]);
    assert_eq!(text.code, Some(1));
    for words in [
        "[kernel.preempt-rt]",
        "CONFIG_PREEMPT_RT=y",
        "echo 0 > /proc/sys/vm/compact",
        "Not known",
        "tardy check --apply",
    ] {
        assert!(text.stdout.contains(words), "{words} is not in {}", text.stdout);
    }
    assert!(text.stdout.lines().all(|line| line.chars().count() <= 140), "{}", text.stdout);
    let cmdline = check(&bench, &["--cpus", "1", "--format", "cmdline"]).stdout;
    assert!(cmdline.contains("isolcpus=managed_irq,domain,1") && cmdline.contains("sysctl.vm.compact"), "{cmdline}");
    let sysctl = check(&bench, &["--cpus", "1", "--format", "sysctl"]).stdout;
    assert!(sysctl.contains("vm.compact_unevictable_allowed = 0\n"), "{sysctl}");
    let json = check(&bench, &["--cpus", "1", "--json"]).json();
    assert_eq!(json["ready"], false);
    let first = &json["findings"][0];
    for key in ["id", "fingerprint", "severity", "what", "reason", "fixes", "source"] {
        assert!(!first[key].is_null(), "{key} is not in {first}");
    }
}

#[test]
fn what_is_accepted_in_a_file_no_longer_counts() {
    let bench = machine(&facts("ordinary"));
    bench.keep("known.txt", &check(&bench, &["--format", "accepted"]).stdout);
    let ended = check(&bench, &["--accepted", "known.txt"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stdout);
    assert!(ended.stdout.contains("Accepted"), "{}", ended.stdout);
}

#[test]
fn a_checklist_is_held_against_the_configuration() {
    let bench = machine(&facts("well-set"));
    bench.keep("mine.txt", "CONFIG_PREEMPT_RT\n!CONFIG_PREEMPT_RT if CONFIG_HIGH_RES_TIMERS on x86\n");
    let json = check(&bench, &["--checklist", "mine.txt", "--json"]).json();
    let found: Vec<&Value> =
        json["findings"].as_array().unwrap().iter().filter(|one| one["severity"] == "warning").collect();
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0]["id"], "checklist.CONFIG_PREEMPT_RT");
    let shipped = repository_path("kernels/preempt-rt.checklist");
    assert_ne!(check(&bench, &["--checklist", shipped.to_str().unwrap()]).code, Some(2));
}

#[test]
fn applying_changes_what_can_be_changed_and_judges_the_machine_again() {
    let before = facts("ordinary");
    let bench = machine(&before);
    let mut after = before.clone();
    after.files.insert(COMPACT.into(), Fact::Text("0\n".into()));
    bench.keep("changed.json", &serde_json::to_string(&after).unwrap());
    bench.keep("answer.json", &format!(r#"[{{"path":"{COMPACT}","value":"0","before":"1","problem":null}}]"#));
    let ended = check(&bench, &["--apply"]);
    assert!(ended.stdout.contains(&format!("{COMPACT}: 1 -> 0")), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stdout.contains("`tardy target restore`"), "{}", ended.stdout);
    assert!(!ended.stdout.contains("[memory.locked-pages-move]"), "{}", ended.stdout);
    let asked: Value = serde_json::from_slice(&fs::read(bench.path("asked.json")).unwrap()).unwrap();
    assert_eq!(asked, serde_json::json!([{ "path": COMPACT, "value": "0" }]));
}

#[test]
fn facts_are_kept_and_judged_without_the_machine() {
    let bench = machine(&facts("ordinary"));
    let there = check(&bench, &["--save-facts", "kept.json"]);
    fs::remove_file(bench.path("meter")).unwrap();
    let kept = check(&bench, &["--facts", "kept.json"]);
    assert_eq!((kept.code, kept.stdout), (there.code, there.stdout));
}

#[test]
fn what_is_typed_wrong_is_code_2_and_a_meter_that_cannot_answer_code_3() {
    let bench = machine(&facts("ordinary"));
    bench.keep("bad.txt", "CONFIG_A\nnonsense\n");
    bench.keep("bad.json", "{}");
    let wrong: [&[&str]; 6] = [
        &["--checklist", "bad.txt"],
        &["--accepted", "bad.txt"],
        &["--accepted", "absent.txt"],
        &["--facts", "bad.json"],
        &["--priority", "100"],
        &["--target", "nowhere"],
    ];
    for words in wrong {
        let ended = check(&bench, words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
    }
    assert!(check(&bench, wrong[0]).stderr.contains("bad.txt:2"), "the line is named");
    bench.keep("facts.json", "Killed");
    let ended = check(&bench, &[]);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("cannot be understood"), "{}", ended.stderr);
}

#[test]
fn what_a_target_says_stays_text() {
    let mut facts = facts("ordinary");
    let evil = "\u{1b}[2Jgotcha\n* kernel.preempt-rt";
    facts.environment.hostname = evil.into();
    facts.environment.kernel_release = evil.into();
    facts.environment.virtualisation = Some(evil.into());
    facts.cgroups = vec![format!("/sys/{evil}")];
    facts.files.insert(format!("/sys/{evil}/cpu.max"), Fact::Text("1 2".into()));
    let bench = machine(&facts);
    for format in ["text", "cmdline", "sysctl", "accepted"] {
        let ended = check(&bench, &["--format", format, "--notices"]);
        assert!(!ended.stdout.contains('\u{1b}'), "{format}: {:?}", ended.stdout);
        assert!(!ended.stdout.lines().any(|line| line.starts_with("* ")), "{format}: {}", ended.stdout);
    }
}
