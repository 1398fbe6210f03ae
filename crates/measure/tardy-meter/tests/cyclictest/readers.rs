//! Parsers of cyclictest's output, and their grammar.

use crate::programs::run_ours;
use prerequisites::{Machine, require};
use serde_json::Value;
use std::collections::BTreeMap;

/// The keys that Linaro's parse_rt_tests_results.py uses, of threads that woke up: the program ends when the first one has all its
/// cycles.
fn as_linaro_reads(text: &str) -> Vec<(f64, f64, f64)> {
    let result: Value = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    assert_eq!(result["file_version"], 1);
    assert!(result["return_code"].is_i64());
    let threads = result["num_threads"].as_u64().unwrap();
    (0..threads)
        .map(|thread| &result["thread"][thread.to_string()])
        .filter(|thread| thread["cycles"].as_u64().unwrap_or_else(|| panic!("cycles of {thread}")) > 0)
        .map(|thread| {
            let number = |key: &str| thread[key].as_f64().unwrap_or_else(|| panic!("{key} of {thread}"));
            (number("min"), number("avg"), number("max"))
        })
        .collect()
}

#[test]
fn linaro_reads_the_json() {
    let directory = tempfile::tempdir().unwrap();
    for compat in ["2.4", "2.10"] {
        run_ours(&format!("--compat {compat} -t 3 -d 0 -l 30 -q --json=out.json -h 50"), directory.path());
        let text = std::fs::read_to_string(directory.path().join("out.json")).unwrap();
        let threads = as_linaro_reads(&text);
        assert!(!threads.is_empty(), "{text}");
        for (min, avg, max) in threads {
            assert!(0.0 < min && min <= avg && avg <= max, "{min} {avg} {max}");
        }
    }
}

#[test]
fn the_json_is_valid_whatever_was_typed() {
    let directory = tempfile::tempdir().unwrap();
    let mut command = crate::programs::ours();
    command.args(["-l", "3", "-q", "--json=-", "--histfile=a\"b\\c\td"]).current_dir(directory.path());
    let output = command.output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let end = text.rfind("\n}\n").unwrap() + 3;
    as_linaro_reads(&text[text.find("{\n").unwrap()..end]);
}

#[test]
fn every_sample_is_in_the_histogram_or_among_the_overflows() {
    let directory = tempfile::tempdir().unwrap();
    run_ours("-S -l 200 -i 500 -h 70 -q --json=out.json", directory.path());
    let result: Value = serde_json::from_slice(&std::fs::read(directory.path().join("out.json")).unwrap()).unwrap();
    for (name, thread) in result["thread"].as_object().unwrap() {
        let counted: u64 = thread["histogram"].as_object().unwrap().values().map(|count| count.as_u64().unwrap()).sum();
        let extra = &result["tardy"]["threads"][name];
        let overflows = extra["overflows"]["count"].as_u64().unwrap();
        assert_eq!(counted + overflows, thread["cycles"].as_u64().unwrap());
        for overflow in extra["overflows"]["first"].as_array().unwrap() {
            assert!(overflow[1].as_u64().unwrap() >= 70, "{overflow}");
        }
        assert_eq!(extra["latency_ns"]["max"].as_u64().unwrap() / 1000, thread["max"].as_u64().unwrap());
    }
}

/// OSADL's plotting recipe: the maximum from its line, then lines without `#` and blanks, cut into columns at tabs,
/// with one space between the first column and the counts.
fn as_osadl_plots(output: &str) -> (Vec<u64>, BTreeMap<u64, Vec<u64>>) {
    let maxima = output.lines().find_map(|line| line.strip_prefix("# Max Latencies: ")).expect("the line of maxima");
    let rows = output.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(|line| {
        let (bucket, counts) = line.split_once(' ').unwrap();
        (bucket.parse().unwrap(), counts.split('\t').map(|count| count.parse().unwrap()).collect())
    });
    (maxima.split(' ').map(|max| max.parse().unwrap()).collect(), rows.collect())
}

#[test]
fn osadl_plots_the_histogram() {
    require!(Root);
    let directory = tempfile::tempdir().unwrap();
    for compat in ["2.4", "2.10"] {
        let ran = run_ours(&format!("--compat {compat} -l1000 -m -Sp90 -i200 -h400 -q"), directory.path());
        let (maxima, rows) = as_osadl_plots(&ran.stdout);
        assert_eq!(compat == "2.4", rows.len() == 400);
        assert!(rows.values().all(|counts| counts.len() == maxima.len()), "{}", ran.stdout);
        let numbers = |title: &str| -> Vec<u64> {
            let line = ran.stdout.lines().find_map(|line| line.strip_prefix(title)).unwrap();
            line.split_whitespace().take(maxima.len()).map(|number| number.parse().unwrap()).collect()
        };
        let plotted: Vec<u64> =
            (0..maxima.len()).map(|thread| rows.values().map(|counts| counts[thread]).sum()).collect();
        if compat == "2.4" {
            assert_eq!(plotted, numbers("# Total:"));
        }
        // The first thread that has all its cycles ends the others, which may be behind.
        let most = plotted.iter().zip(numbers("# Histogram Overflows:")).map(|(plotted, over)| plotted + over).max();
        assert!((1000..=1001).contains(&most.unwrap()), "{}", ran.stdout);
    }
}

#[test]
fn a_link_of_the_name_is_enough() {
    let directory = tempfile::tempdir().unwrap();
    let link = directory.path().join("cyclictest");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tardy-meter"), &link).unwrap();
    let output = std::process::Command::new(&link).args(["-l", "5", "-q"]).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8_lossy(&output.stdout).contains("T: 0 ("));
    let help = std::process::Command::new(&link).arg("--help").output().unwrap();
    assert!(String::from_utf8_lossy(&help.stdout).contains("--histogram"));
}

#[test]
fn snapshots_are_numbered_files_and_the_test_goes_on() {
    require!(Root, Tracefs);
    let _machine = Machine::alone();
    let directory = tempfile::tempdir().unwrap();
    let ran = run_ours("-a -p 50 -l 300 -q --snapshot --json=out.json", directory.path());
    require!(Prepared("a machine on which no other tool traces", !ran.stderr.contains("another tool is tracing")));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(ran.stdout.contains("C:    300"), "{}", ran.stdout);
    let files: Vec<&str> = ran.stdout.lines().filter_map(|line| line.strip_prefix("# Snapshot file: ")).collect();
    let count = ran.stdout.lines().find_map(|line| line.strip_prefix("# Snapshot taking time: ")).unwrap();
    assert!(!files.is_empty() && count == files.len().to_string(), "{}", ran.stdout);
    let mut largest = 0;
    for line in &files {
        let words: Vec<&str> = line.split(' ').collect();
        let value: u64 = words[words.len() - 1].parse().unwrap();
        assert!(value >= largest, "each is a new maximum: {}", ran.stdout);
        largest = value;
        let trace = std::fs::read(directory.path().join(words[0])).unwrap();
        assert_eq!(&trace[..10], b"\x17\x08\x44tracing");
    }
    let result: Value = serde_json::from_slice(&std::fs::read(directory.path().join("out.json")).unwrap()).unwrap();
    assert_eq!(result["tardy"]["traces"].as_array().unwrap().len(), files.len());
    let instances = std::fs::read_dir("/sys/kernel/tracing/instances").unwrap();
    let own = instances.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name().to_string_lossy().into_owned();
        files[0].contains(name.trim_start_matches("tardy-").split('-').next().unwrap())
    });
    assert_eq!(own.count(), 0, "the instances are gone");
}

#[test]
fn a_thread_that_sleeps_on_keeps_nothing_open() {
    require!(Root, Tracefs);
    let _machine = Machine::alone();
    let directory = tempfile::tempdir().unwrap();
    let begun = std::time::Instant::now();
    let ran = run_ours("-a -t 2 -d 60000000 -p 50 -l 20 -q --snapshot", directory.path());
    require!(Prepared("a machine on which no other tool traces", !ran.stderr.contains("another tool is tracing")));
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(!ran.stderr.contains("not put back"), "{}", ran.stderr);
    assert!(begun.elapsed().as_secs() < 50, "the sleep of a minute was not waited for");
}
