//! `tardy export` to the formats of test systems: outcomes, refusals, and nothing that a target says as markup.

use crate::fake_meter::*;
use archive::spike::SpikeReason;
use roxmltree::Document;
use std::fs;

/// A bench with the archive `here`, of which the spikes are known.
fn archived() -> Bench {
    let bench = ending_well(measuring().says(&[spike(2, 200_000, SpikeReason::NewMaximum)]));
    assert_eq!(bench.run(&["run", "--out", "here"]).code, Some(0));
    bench
}

fn exported(bench: &Bench, words: &[&str]) -> String {
    let ended = bench.run(&[&["export", "here", "-o", "-", "--format"], words].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    ended.stdout
}

#[test]
fn what_no_limit_decides_is_never_passed() {
    let bench = archived();
    let junit = exported(&bench, &["junit"]);
    let document = Document::parse(&junit).unwrap();
    let cases: Vec<_> = document.descendants().filter(|node| node.has_tag_name("testcase")).collect();
    assert!(!cases.is_empty());
    for case in cases {
        assert!(case.children().any(|child| child.has_tag_name("skipped")), "{junit}");
    }
    let tap = exported(&bench, &["tap"]);
    assert!(tap.starts_with("TAP version 13\n1..1\nok 1 - ") || tap.contains("\nok 1 - "), "{tap}");
    assert!(tap.lines().filter(|line| line.starts_with("ok ")).all(|line| line.contains("# SKIP")), "{tap}");
    assert!(!exported(&bench, &["lava"]).contains("RESULT=pass"));
    assert_eq!(exported(&bench, &["squad-tests"]).trim(), "{}");
    let kcidb: serde_json::Value = serde_json::from_str(&exported(&bench, &["kcidb"])).unwrap();
    assert!(kcidb["tests"].as_array().unwrap().iter().all(|test| test["status"] == "DONE"), "{kcidb}");
    let fuego: serde_json::Value = serde_json::from_str(&exported(&bench, &["fuego"])).unwrap();
    assert_eq!(fuego["status"], "SKIP");
}

#[test]
fn a_run_that_is_not_valid_is_an_error_and_no_failure() {
    let bench = archived();
    fs::remove_file(bench.path("here/stream.tardy")).unwrap();
    let junit = exported(&bench, &["junit", "--limit", "latency < 1us"]);
    let document = Document::parse(&junit).unwrap();
    let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
    assert_eq!((count("error"), count("failure"), count("testcase")), (2, 0, 2), "{junit}");
}

#[test]
fn criteria_of_fuego_decide_its_document() {
    let bench = archived();
    let criteria = |text: &str| fs::write(bench.path("criteria.json"), text).unwrap();
    let measure = |operator: &str| {
        format!(
            r#"{{"schema_version":"1.0","criteria":[{{"tguid":"default.latencies.max_latency","reference":{{"value":1,"operator":"{operator}"}}}}]}}"#
        )
    };
    for (operator, status) in [("le", "FAIL"), ("gt", "PASS")] {
        criteria(&measure(operator));
        let text = exported(&bench, &["fuego", "--criteria", "criteria.json"]);
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["status"], status, "{text}");
    }
    criteria(&measure("near"));
    let refused = bench.run(&["export", "here", "--format", "fuego", "--criteria", "criteria.json"]);
    assert_eq!(refused.code, Some(2));
    assert!(refused.stderr.contains("`near` is no operator"), "{}", refused.stderr);
}

#[test]
fn several_runs_are_told_apart_in_one_document() {
    let bench = archived();
    let ended = bench.run(&["export", "here", "here", "--format", "junit", "-o", "-"]);
    let document = Document::parse(&ended.stdout).unwrap();
    let names: Vec<_> = document
        .descendants()
        .filter(|node| node.has_tag_name("testsuite"))
        .map(|suite| suite.attribute("name").unwrap().to_owned())
        .collect();
    assert_eq!(names.len(), 2);
    assert_eq!(names[1], format!("{}-2", names[0]));
    for words in [vec!["--format", "junit"], vec!["--format", "worst-csv", "-o", "-"]] {
        assert_eq!(bench.run(&[&["export", "here", "here"], &words[..]].concat()).code, Some(2));
    }
}

#[test]
fn samples_that_were_not_kept_are_refused_with_the_mend() {
    let refused = archived().run(&["export", "here", "--format", "parquet"]);
    assert_eq!(refused.code, Some(3));
    assert!(refused.stderr.contains("--every-sample"), "{}", refused.stderr);
}
