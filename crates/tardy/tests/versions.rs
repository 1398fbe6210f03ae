//! Archives of every version since the first still open, and the document about their format matches the files.

use archive::budget::StoredBudget;
use archive::frame::{Decoder, Item};
use archive::message::Message;
use archive::reader::Run;
use archive::spike::SpikeReason;
use fixtures::repository::repository_path;
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// One archive of each release, named after the version of the format and its own.
fn saved() -> Vec<PathBuf> {
    let entries = fs::read_dir(repository_path("corpus/archives")).unwrap();
    let mut archives: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).filter(|path| path.is_dir()).collect();
    archives.sort();
    assert!(!archives.is_empty());
    archives
}

fn tardy(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_tardy")).args(arguments).output().unwrap();
    assert!(output.status.success(), "tardy {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn sum(list: &Value) -> i64 {
    list.as_array().unwrap().iter().map(|entry| entry["ns"].as_i64().unwrap()).sum()
}

/// Values that must be read the same way for ever, even if explanations improve.
fn figures(run: &Run) -> String {
    let mut text = String::new();
    for thread in run.threads.values() {
        let totals = &thread.totals;
        text += &format!(
            "cpu {}: {} cycles, {} missed, min {} ns, sum {} ns, max {} ns, {} samples in buckets, {} worst, {} seconds\n",
            thread.cpu,
            totals.cycles,
            totals.missed_periods,
            totals.latency_ns_min.unwrap(),
            totals.latency_ns_sum,
            totals.latency_ns_max.unwrap(),
            thread.histogram.total(),
            thread.worst.len(),
            thread.seconds.len(),
        );
    }
    for spike in &run.spikes {
        let (number, sample) = (spike.number, spike.sample);
        let trace_bytes = run.spike_trace(number).unwrap().len();
        assert_eq!(spike.snapshot.as_ref().unwrap().trace_bytes, trace_bytes as u64);
        text +=
            &format!("spike {number}: cpu {}, {} ns, trace of {trace_bytes} bytes\n", sample.cpu, sample.latency_ns);
    }
    for load in &run.loads {
        text += &format!("load {}: {} {}\n", load.name, load.progress, load.unit);
    }
    text
}

#[test]
fn archives_of_every_version_open_without_gaps_and_keep_their_figures() {
    for path in saved() {
        let run = Run::open(&path).unwrap();
        assert_eq!(run.gaps, [], "{}", path.display());
        assert_eq!(run.losses.iter().filter(|loss| loss.kind == archive::message::LossKind::Messages).count(), 0);
        let expected = PathBuf::from(format!("{}.txt", path.display()));
        if std::env::var_os("UPDATE_GOLDEN").is_some() {
            fs::write(&expected, figures(&run)).unwrap();
        }
        assert_eq!(figures(&run), fs::read_to_string(expected).unwrap(), "{}", path.display());
    }
}

/// Files below a directory, with their lengths.
fn files_below(directory: &Path, name: &str, found: &mut Vec<(String, u64)>) {
    for entry in fs::read_dir(directory).unwrap().map(|entry| entry.unwrap()) {
        let name = [name, entry.file_name().to_str().unwrap()].concat();
        match entry.path() {
            folder if folder.is_dir() => files_below(&folder, &format!("{name}/"), found),
            file => found.push((name, fs::metadata(file).unwrap().len())),
        }
    }
}

#[test]
fn archives_of_every_version_are_within_the_budget_of_their_run() {
    let gallery = fs::read_dir(repository_path("corpus/gallery")).unwrap().map(|entry| entry.unwrap().path());
    for path in saved().into_iter().chain(gallery.filter(|path| path.is_dir())) {
        let manifest = Run::open(&path).unwrap().manifest.unwrap();
        let mut budget = StoredBudget::of(&manifest).unwrap_or_else(|| panic!("{} has settings", path.display()));
        let mut files = Vec::new();
        files_below(&path, "", &mut files);
        assert!(files.len() > 1, "{}", path.display());
        for (name, bytes) in files.iter().filter(|(name, _)| !name.ends_with("explanations.json")) {
            assert_eq!(budget.charge(name, *bytes), Ok(()), "{name} of {}", path.display());
        }
        assert!(budget.charge("spikes/0001/trace.dat", 1 << 40).is_err());
    }
}

#[test]
fn archives_of_every_version_explain_to_the_nanosecond() {
    for path in saved() {
        let run = Run::open(&path).unwrap();
        let document: Value = serde_json::from_slice(&tardy(&["explain", "--json", path.to_str().unwrap()])).unwrap();
        let spikes = document["spikes"].as_array().unwrap();
        assert_eq!(spikes.len(), run.spikes.len());
        for spike in spikes {
            assert_ne!(spike["status"], "no_trace", "{spike}");
            assert_eq!(sum(&spike["phases"]), spike["latency_ns"].as_i64().unwrap(), "{spike}");
            for phase in spike["phases"].as_array().unwrap() {
                assert_eq!(sum(&phase["owners"]), phase["ns"].as_i64().unwrap(), "{phase}");
            }
        }
        let saved = run.explanations().expect("saved explanations are understood");
        assert_eq!(saved.len(), run.spikes.len());
    }
}

#[test]
fn archives_of_every_version_render_a_report() {
    for path in saved() {
        let run = Run::open(&path).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let page = folder.path().join("report.html");
        tardy(&["report", path.to_str().unwrap(), "-o", page.to_str().unwrap()]);
        let page = fs::read_to_string(page).unwrap();
        for spike in run.spikes.iter().filter(|spike| spike.reason != SpikeReason::Control) {
            assert!(page.contains(&format!("id=\"spike-{}\"", spike.number)), "spike {} is absent", spike.number);
        }
    }
}

/// Sixteen bytes a sample: due and latency in ns, little-endian.
#[test]
fn files_of_every_sample_hold_what_the_totals_say() {
    for path in saved() {
        let run = Run::open(&path).unwrap();
        for thread in run.threads.values() {
            let bytes = fs::read(path.join(format!("samples/{}.bin", thread.thread))).unwrap();
            let latencies: Vec<i64> =
                bytes.chunks_exact(16).map(|record| i64::from_le_bytes(record[8..].try_into().unwrap())).collect();
            assert_eq!(bytes.len() % 16, 0);
            assert_eq!(latencies.len() as u64, thread.totals.cycles);
            assert_eq!(latencies.iter().max().copied(), thread.totals.latency_ns_max);
            assert_eq!(latencies.iter().sum::<i64>(), thread.totals.latency_ns_sum);
        }
    }
}

/// The bytes of the block marked `hex` in the document about the format.
fn documented_frames() -> Vec<u8> {
    let document = fs::read_to_string(repository_path("docs/reference/run-archive.md")).unwrap();
    let inside = document.lines().skip_while(|line| *line != "```hex").skip(1).take_while(|line| *line != "```");
    let columns = inside.flat_map(|line| line.split("  ").next().unwrap_or_default().split_whitespace());
    columns.map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
}

#[test]
fn the_documented_bytes_are_frames() {
    let items = Decoder::default().push(&documented_frames());
    let [Item::Message(Message::SpikeDropped { number: 3, why }), Item::Chunk { file: 7, offset: 65536, data }] =
        &items[..]
    else {
        panic!("{items:?}");
    };
    assert_eq!(why, "larger spikes took its place");
    assert_eq!(data, &[1, 2, 3, 4]);
}
