//! Archives whose names say nothing: a client that reads answers of 2 kB finds the cause that each was made with.

use crate::server::{Server, folders, last};
use archive::culprit::Culprit;
use archive::frame::Item;
use archive::manifest::{Manifest, RunState};
use archive::message::{Ending, FileKind, Message, RunPhase};
use archive::settings::RunSettings;
use archive::spike::Spike;
use archive::writer::RunWriter;
use fixtures::fake_meter::{Bench, end, hello, phase, thousand_at};
use fixtures::repository::{copy, repository_path};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

const ARCHIVES: usize = 50;
/// The name of cases that nothing explains.
const NOT_EXPLAINED: &str = "not-explained";

/// A case of each culprit that one of the corpus is named after, and one that nothing explains.
fn cases() -> Vec<String> {
    let is_named = |case: &String| {
        let planted = planted(case);
        planted == NOT_EXPLAINED || Culprit::ALL.iter().any(|culprit| culprit.id() == planted)
    };
    let cases = folders("corpus/explain").into_iter().filter(is_named);
    let with_trace = cases.filter(|case| repository_path(case).join("trace.dat").is_file());
    let first: BTreeMap<String, String> = with_trace.rev().map(|case| (planted(&case).to_owned(), case)).collect();
    first.into_values().collect()
}

/// The cause that a folder is named after.
fn planted(folder: &str) -> &str {
    last(folder).split("--").next().unwrap_or_default()
}

/// Writes a case as the archive of a run with one spike.
fn write(case: &str, directory: &Path) {
    let text = fs::read_to_string(repository_path(case).join("spike.json")).unwrap();
    let known: Value = serde_json::from_str(&text).unwrap();
    let spike: Spike = serde_json::from_value(known["spike"].clone()).unwrap();
    let interval_ns = known["interval_ns"].as_u64().unwrap();
    let settings = RunSettings { interval_ns, ..RunSettings::default() };
    let manifest = Manifest { settings: Some(settings), ..Manifest::new("run", "0.2.0", "target") };
    let mut writer = RunWriter::create(directory, manifest).unwrap();
    let mut messages = vec![hello(), phase(RunPhase::Measure, 1)];
    if let Ok(environment) = serde_json::from_value(known["environment"].clone()) {
        messages.push(Message::Environment(Box::new(environment)));
    }
    messages.push(thousand_at(known["median_ns"].as_i64().unwrap()));
    messages.push(Message::Spike(Box::new(spike.clone())));
    messages.push(end(Ending::Complete));
    messages.iter().for_each(|message| writer.append(message).unwrap());
    let trace = fs::read(repository_path(case).join("trace.dat")).unwrap();
    let (kind, bytes) = (FileKind::SpikeTrace { spike: spike.number }, trace.len() as u64);
    for item in [
        Item::Message(Message::FileBegin { file: 1, kind }),
        Item::Chunk { file: 1, offset: 0, data: trace },
        Item::Message(Message::FileEnd { file: 1, bytes }),
    ] {
        writer.store(&item).unwrap();
    }
    writer.finish(RunState::Complete, None, 1).unwrap();
}

/// The account of the worst wake-up of a run as a client reads it.
fn account(server: &mut Server, run: &str) -> Value {
    let causes = server.answer("run_causes", &json!({ "run": run }));
    let worst = &causes["worst"][0]["spike"];
    server.answer("explain_spike", &json!({ "run": run, "spike": worst }))
}

/// The culprit that an account names, or that nothing explains the wake-up.
fn cause(account: &Value) -> &str {
    if account["status"] == "explained" { account["findings"][0]["culprit"].as_str().unwrap() } else { NOT_EXPLAINED }
}

/// Whether an account names the culprit, or has it as its first hint: one without a recorded trace is never more.
fn shows(account: &Value, culprit: &str) -> bool {
    cause(account) == culprit || account["findings"][0]["culprit"] == culprit
}

#[test]
fn a_client_finds_the_cause_of_50_archives_without_a_name() {
    let bench = Bench::new();
    fs::create_dir(bench.path("runs")).unwrap();
    let folders: Vec<String> = folders("corpus/gallery").into_iter().chain(cases()).take(ARCHIVES).collect();
    assert_eq!(folders.len(), ARCHIVES);
    for (number, folder) in folders.iter().enumerate() {
        let directory = bench.path("runs").join(number.to_string());
        match folder.starts_with("corpus/gallery") {
            true => copy(&repository_path(folder), &directory),
            false => write(folder, &directory),
        }
    }
    let mut server = Server::start(&bench, &[]);
    let mut other = Vec::new();
    for (number, folder) in folders.iter().enumerate() {
        let run = number.to_string();
        let read = account(&mut server, &run);
        let own = &bench.run(&["explain", &run, "--json"]).json()["spikes"][0];
        assert_eq!(cause(&read), cause(own), "{folder}");
        if !shows(&read, planted(folder)) {
            other.push(format!("{folder}: {}", cause(&read)));
        }
    }
    eprintln!("{} of {ARCHIVES} without their cause: {other:#?}", other.len());
    // A case may need controls that an archive of one spike does not have.
    assert!(other.len() <= ARCHIVES / 10, "{other:#?}");
}
