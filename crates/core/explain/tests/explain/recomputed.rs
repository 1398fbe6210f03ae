//! Another program recomputes the ledgers of the corpus from the text of `trace-cmd report`, and agrees to the ns.

use crate::corpus::{cases, run};
use fixtures::repository::repository_path;
use prerequisites::Prerequisite::Program;
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Command;

const RECORDED_MIN: usize = 50;
/// Cases with inferred stretches: the other program uses only recorded switches, and calls such stretches untraced.
const INFERRED: &[&str] = &[
    "cfs-quota--injected-6.18",
    "other-rt-task--switch-from-idle-missing-6.18",
    "rt-throttling--a-less-urgent-task-of-another-group-6.18",
    "rt-throttling--a-less-urgent-task-of-another-group-6.18-2",
    "rt-throttling--emulator-of-a-neighbour-6.18",
];

fn program() -> PathBuf {
    repository_path("corpus/recompute/recompute.py")
}

/// The recorded cases with their ledgers, without synthetic traces and watched threads.
fn ledgers() -> Vec<Value> {
    let inferred = |case: &Path| INFERRED.iter().any(|name| case.ends_with(name));
    let recorded = cases().into_iter().filter(|case| !case.join("events.txt").exists() && !inferred(case));
    let ledgers = recorded.filter_map(|case| {
        let text = std::fs::read_to_string(case.join("spike.json")).unwrap();
        let file: Value = serde_json::from_str(&text).unwrap();
        let explanation = run(&case).unwrap().explanation;
        let name = case.file_name()?.to_str()?.to_owned();
        let trace = case.join("trace.dat");
        let one = json!({"name": name, "trace": trace, "spike": file["spike"], "phases": explanation.phases});
        file["spike"]["watched"].is_null().then_some(one)
    });
    ledgers.collect()
}

fn recompute(ledgers: &[Value]) -> (bool, String) {
    let path = std::env::temp_dir().join(format!("ledgers-{}-{}.json", std::process::id(), ledgers.len()));
    std::fs::write(&path, serde_json::to_vec(ledgers).unwrap()).unwrap();
    let ended = Command::new("python3").arg(program()).arg("cases").arg(&path).output().unwrap();
    std::fs::remove_file(&path).unwrap();
    let text = String::from_utf8_lossy(&ended.stdout).into_owned() + &String::from_utf8_lossy(&ended.stderr);
    (ended.status.success(), text)
}

#[test]
fn another_program_finds_the_same_ledgers() {
    if !prerequisites::met(&[Program("python3"), Program("trace-cmd")]) {
        return;
    }
    let mut ledgers = ledgers();
    assert!(ledgers.len() >= RECORDED_MIN, "the corpus is gone");
    let (agree, text) = recompute(&ledgers);
    assert!(agree, "{text}");

    for ledger in &mut ledgers {
        let ns = &mut ledger["phases"][0]["owners"][0]["ns"];
        *ns = json!(ns.as_i64().unwrap() + 1);
    }
    let (agree, text) = recompute(&ledgers);
    assert!(!agree, "one ns too much went unseen: {text}");
}
