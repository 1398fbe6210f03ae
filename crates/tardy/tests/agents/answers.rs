//! Each answer of each tool over every archive of the corpus: it fits 2 kB, and is what the command line prints.

use crate::server::{Server, folders, last, with_runs};
use fixtures::fake_meter::Bench;
use fixtures::repository::repository_path;
use serde_json::{Value, json};
use std::fs;

/// Every saved archive of the corpus, and a server for them.
fn corpus() -> (Bench, Vec<String>, Server) {
    let archives = [folders("corpus/archives"), folders("corpus/gallery")].concat();
    let names: Vec<String> = archives.iter().map(|archive| last(archive).to_owned()).collect();
    let pairs: Vec<(&str, &str)> = archives.iter().map(String::as_str).zip(names.iter().map(String::as_str)).collect();
    let bench = with_runs(&pairs);
    let server = Server::start(&bench, &[]);
    (bench, names, server)
}

/// A call must answer with the document that these words print.
fn assert_same(bench: &Bench, server: &mut Server, (tool, arguments): (&str, Value), words: &[&str]) {
    let printed = bench.run(&[words, &["--json", "--brief"]].concat());
    let answer = server.call(tool, &arguments);
    assert_eq!(answer.text, printed.stdout.trim_end(), "{tool} {arguments}, {words:?}: {}", printed.stderr);
}

#[test]
fn every_archive_gets_the_answers_of_the_command_line_within_2_kb() {
    let (bench, names, mut server) = corpus();
    for name in &names {
        assert_same(&bench, &mut server, ("run_causes", json!({ "run": name })), &["explain", name]);
        let limit = "latency < 100us";
        let judged = json!({ "run": name, "limit": limit, "allow": "1/day" });
        assert_same(&bench, &mut server, ("judge_run", judged), &["judge", name, "--limit", limit, "--allow", "1/day"]);
        assert_same(&bench, &mut server, ("judge_run", json!({ "run": name })), &["judge", name]);
        let pair = json!({ "a": name, "b": "printk" });
        assert_same(&bench, &mut server, ("compare_runs", pair), &["compare", name, "printk"]);
    }
    assert_same(&bench, &mut server, ("list_runs", json!({})), &["list"]);
    assert_same(
        &bench,
        &mut server,
        ("list_runs", json!({ "target": "local", "skip": 2 })),
        &["list", "--target", "local", "--skip", "2"],
    );
    assert!(server.close().success());
}

#[test]
fn every_spike_gets_the_answer_of_the_command_line_within_2_kb() {
    let (bench, names, mut server) = corpus();
    for name in &names {
        let explained = bench.run(&["explain", name, "--json"]).json();
        let spikes = explained["spikes"].as_array().unwrap();
        let numbers: Vec<u64> = spikes.iter().map(|spike| spike["spike"].as_u64().unwrap()).collect();
        for number in &numbers {
            server.answer("explain_spike", &json!({ "run": name, "spike": number }));
        }
        let call = ("explain_spike", json!({ "run": name, "spike": numbers[0] }));
        assert_same(&bench, &mut server, call, &["explain", name, "--spike", &numbers[0].to_string()]);
    }
}

#[test]
fn an_identifier_leads_to_its_piece_of_evidence() {
    let (bench, names, mut server) = corpus();
    for name in &names {
        let explained = bench.run(&["explain", name, "--json"]).json();
        let account = server.answer("explain_spike", &json!({ "run": name, "spike": explained["spikes"][0]["spike"] }));
        let Some(id) = account["findings"][0]["evidence"][0].as_str() else { continue };
        let call = ("evidence", json!({ "run": name, "id": id }));
        let shown = server.answer(call.0, &call.1);
        assert_eq!(shown["evidence"], explained["spikes"][0]["findings"][0]["evidence_facts"][0], "{name} {id}");
        assert_same(&bench, &mut server, call, &["explain", name, "--evidence", id]);
    }
}

#[test]
fn pages_of_the_list_hold_every_run_once() {
    let (_bench, names, mut server) = corpus();
    let (mut found, mut skip) = (Vec::new(), json!(0));
    while !skip.is_null() {
        let page = server.answer("list_runs", &json!({ "skip": skip }));
        assert_eq!(page["matched"], names.len());
        found.extend(
            page["runs"].as_array().unwrap().iter().map(|run| last(run["archive"].as_str().unwrap()).to_owned()),
        );
        skip = page["next_skip"].clone();
    }
    found.sort();
    let mut names = names;
    names.sort();
    assert_eq!(found, names);
}

#[test]
fn filters_narrow_the_list() {
    let (_bench, _, mut server) = corpus();
    let emulated = server.answer("list_runs", &json!({ "target": "truth (emulated)" }));
    let targets: Vec<&Value> = emulated["runs"].as_array().unwrap().iter().map(|run| &run["target"]).collect();
    assert!(!targets.is_empty() && targets.iter().all(|target| *target == "truth (emulated)"), "{emulated}");
    assert_eq!(server.answer("list_runs", &json!({ "cause": "no-such-cause" }))["matched"], 0);
}

#[test]
fn methods_and_loads_are_listed_and_each_is_described() {
    let bench = Bench::new();
    let mut server = Server::start(&bench, &[]);
    let methods = server.answer("list_methods", &json!({}));
    for method in methods["methods"].as_array().unwrap() {
        let name = &method["name"];
        assert!(server.answer("list_methods", &json!({ "name": name }))["methods"][0]["from"].is_string(), "{name}");
    }
    let loads = server.answer("list_loads", &json!({}));
    for name in ["builtin", "programs"].iter().flat_map(|kind| loads[kind].as_array().unwrap()) {
        assert!(server.answer("list_loads", &json!({ "name": name }))["load"]["what"].is_string(), "{name}");
    }
    assert_same(&bench, &mut server, ("list_methods", json!({ "name": "udp" })), &["list", "methods", "udp"]);
    assert_same(&bench, &mut server, ("list_loads", json!({})), &["list", "loads"]);
    assert_eq!(server.refusal("list_loads", &json!({ "name": "none" })), "usage.refused");
}

#[test]
fn a_recording_is_explained_and_leaves_nothing_behind() {
    let bench = Bench::new();
    let recordings = repository_path("corpus/foreign");
    let mut server = Server::start(&bench, &[recordings.to_str().unwrap()]);
    let temporary = std::env::temp_dir().join(format!("tardy-mcp-{}", server.pid()));
    let files = fs::read_dir(&recordings).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    for file in files.filter(|name| name.ends_with(".gz")) {
        let causes = server.answer("explain_file", &json!({ "file": file }));
        let spike = &causes["worst"][0]["spike"];
        if spike.is_null() {
            assert!(causes["latency_traces"][0]["latency_ns"].is_i64(), "{causes}");
            continue;
        }
        let account = server.answer("explain_file", &json!({ "file": file, "spike": spike }));
        assert_eq!(account["latency_ns"], causes["worst"][0]["latency_ns"], "{file}");
        assert!(account["archive"].as_str().unwrap().ends_with(&file), "{account}");
        assert_eq!(fs::read_dir(&temporary).unwrap().count(), 0, "{file}");
    }
    assert_eq!(server.refusal("explain_file", &json!({ "file": "rounds.c" })), "usage.refused");
    assert_eq!(server.refusal("explain_file", &json!({ "file": "." })), "usage.refused");
    assert!(server.close().success());
    assert!(!temporary.exists());
    assert_eq!(bench.names(), Vec::<String>::new());
}

#[test]
fn a_spike_without_a_certain_cause_names_the_observation_that_decides() {
    let (_bench, names, mut server) = corpus();
    let mut open = 0;
    for name in &names {
        let causes = server.answer("run_causes", &json!({ "run": name }));
        for spike in causes["worst"].as_array().unwrap() {
            let account = server.answer("explain_spike", &json!({ "run": name, "spike": spike["spike"] }));
            let is_certain = account["findings"][0]["confidence"] == "certain";
            let decides = account["decided_by"].as_array().is_some_and(|all| !all.is_empty());
            assert!(is_certain || decides, "{account}");
            open += u32::from(!is_certain);
        }
    }
    assert!(open > 5, "only {open} spikes are open");
}
