//! The summary of every fixture, stored next to it. To update them after an intended change: `TARDY_WRITE_SUMMARIES=1
//! cargo test -p tardy --test imports`, then review the diff.

use crate::{RTLA, SOUND, fixture};
use fixtures::fake_meter::Bench;
use fixtures::repository::repository_path;
use serde_json::Value;
use std::fs;

/// The summary without values that differ from import to import; of several runs, all summaries.
fn summary(words: &[&str]) -> Value {
    let ended = Bench::new().run(words);
    assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{words:?}");
    let mut imports = ended.json()["imports"].take();
    let mut summaries: Vec<Value> = imports.as_array_mut().unwrap().iter_mut().map(lasting).collect();
    if summaries.len() == 1 { summaries.remove(0) } else { summaries.into() }
}

fn lasting(import: &mut Value) -> Value {
    let mut summary = import["summary"].take();
    summary["imported"]["imported_unix_ns"] = "-".into();
    for key in ["archive", "id", "tool_version"] {
        summary[key] = "-".into();
    }
    summary
}

fn compare(name: &str, options: &[&str], golden: &str) {
    let file = fixture(name);
    let words = [&["import", &file, "--json", "--out", "run"], options].concat();
    let seen = serde_json::to_string_pretty(&summary(&words)).unwrap() + "\n";
    let path = repository_path("corpus/imports").join(golden);
    if std::env::var_os("TARDY_WRITE_SUMMARIES").is_some() {
        fs::write(&path, &seen).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap_or_default();
    assert!(seen == expected, "{golden} differs; {name} gives now:\n{seen}");
}

#[test]
fn every_fixture_gives_its_summary() {
    for name in SOUND.iter().chain(&RTLA) {
        compare(name, &[], &format!("{name}.summary"));
    }
}

#[test]
fn what_the_file_does_not_say_can_be_given() {
    compare("cyclictest-2.4/nanoseconds.txt", &["--unit", "ns"], "cyclictest-2.4/nanoseconds.txt.ns.summary");
    compare("rtla/timerlat.json", &["--series", "irq"], "rtla/timerlat.json.irq.summary");
    compare("rtla/timerlat.txt", &["--series", "irq"], "rtla/timerlat.txt.irq.summary");
    let columns = ["--format", "histogram-columns"];
    compare("cyclictest-2.10/histogram.txt", &columns, "cyclictest-2.10/histogram.txt.columns.summary");
}

#[test]
fn every_file_of_the_corpus_is_tested() {
    let mut known: Vec<String> = SOUND.iter().chain(&RTLA).map(|name| (*name).to_owned()).collect();
    known.extend(crate::refusals::REFUSED.iter().map(|(name, _)| (*name).to_owned()));
    known.push("jitterdebugger-samples/samples.raw".into());
    known.sort();
    let mut found = Vec::new();
    for directory in fs::read_dir(repository_path("corpus/imports"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
    {
        for file in fs::read_dir(&directory).unwrap().map(|entry| entry.unwrap().path()) {
            let name = file.strip_prefix(repository_path("corpus/imports")).unwrap().to_str().unwrap().to_owned();
            if !name.ends_with(".summary") {
                found.push(name);
            }
        }
    }
    found.sort();
    assert_eq!(found, known);
}

/// One run of the real cyclictest, written by itself as JSON and as text: both must have the same figures.
#[test]
fn text_and_json_of_one_run_agree() {
    let figures = |name: &str| {
        let file = fixture(name);
        let summary = summary(&["import", &file, "--json", "--out", "run"]);
        let cpus = summary["cpus"].as_array().unwrap().clone();
        cpus.into_iter()
            .map(|cpu| {
                let ns = &cpu["latency_ns"];
                [&cpu["cycles"], &ns["min"], &ns["p50"], &ns["p99"], &ns["p99.9"], &ns["max"]].map(Value::clone)
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(figures("cyclictest-2.4/histogram.json"), figures("cyclictest-2.4/histogram.txt"));
    assert_eq!(figures("cyclictest-2.10/histogram.json"), figures("cyclictest-2.10/histogram.txt"));
}
