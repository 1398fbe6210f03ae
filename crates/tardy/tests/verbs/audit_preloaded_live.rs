//! `tardy audit --by preload` on this machine: calls of the C library that make no system call, in a program that nobody recompiled;
//! and the same program under RealtimeSanitizer.

use super::audit_intercepted_live::{audit, prepared, program};
use super::audit_live::{named, rules};
use ::audit::places::is_c_library;
use prerequisites::Prerequisite::{Prepared, Program};
use prerequisites::met;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Habits of `library_calls.c` in its real-time thread.
const PLANTED: [&str; 4] = ["heap-allocation", "heap-free", "lock-across-priorities", "lock-that-may-wait"];

/// Number of its cycles.
const CYCLES: u64 = 300;

/// A function of the C library, and the function of the program that called it.
type Place = (String, String);

/// The calls of its real-time thread.
fn planted() -> BTreeMap<Place, u64> {
    let (half, third, fifth) = (CYCLES / 2, CYCLES / 3, CYCLES / 5);
    let calls = [
        ("malloc", "allocates", CYCLES),
        // Of its own block, and of the copied text.
        ("free", "frees", 2 * CYCLES),
        // By strdup.
        ("malloc", "copies", CYCLES),
        ("calloc", "clears", third),
        ("realloc", "clears", third),
        ("free", "clears", third),
        ("posix_memalign", "aligns", fifth),
        ("free", "aligns", fifth),
        ("pthread_mutex_lock", "locks_shared", CYCLES),
        ("pthread_mutex_unlock", "locks_shared", CYCLES),
        ("pthread_mutex_lock", "locks_own", CYCLES),
        ("pthread_mutex_unlock", "locks_own", CYCLES),
        ("pthread_mutex_lock", "locks_inheriting", CYCLES),
        ("pthread_mutex_unlock", "locks_inheriting", CYCLES),
        ("pthread_rwlock_rdlock", "reads_and_writes", half),
        ("pthread_rwlock_wrlock", "reads_and_writes", half),
        ("pthread_rwlock_unlock", "reads_and_writes", 2 * half),
        ("pthread_spin_lock", "spins", CYCLES),
        ("pthread_spin_unlock", "spins", CYCLES),
        ("pthread_cond_signal", "signals", CYCLES),
    ];
    calls.into_iter().map(|(function, place, count)| ((function.into(), place.into()), count)).collect()
}

/// Adds up the calls of a thread of the report by function and place.
fn calls_of(report: &serde_json::Value, thread: &str) -> BTreeMap<Place, u64> {
    let threads = report["threads"].as_array().unwrap();
    let thread = threads.iter().find(|one| one["name"] == thread).unwrap_or_else(|| panic!("no {thread}: {report}"));
    let mut calls = BTreeMap::new();
    for call in thread["library_calls"].as_array().unwrap() {
        let frames = call["stack"].as_array().unwrap().iter();
        let mut of_program = frames.filter(|frame| !is_c_library(frame["file"].as_str().unwrap_or_default()));
        let place = of_program.next().map_or("nowhere", |frame| frame["function"].as_str().unwrap_or_default());
        *calls.entry((call["name"].as_str().unwrap().to_owned(), place.to_owned())).or_default() +=
            call["count"].as_u64().unwrap();
    }
    calls
}

#[test]
fn every_planted_call_is_counted_at_its_place_and_no_other() {
    let Some(tools) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let bad = program(&folder, "library_calls.c", &[]);
    let ended = audit(&tools, &folder, &["--by", "preload", "--settle", "100ms", "--json", "--out", "run", "--", &bad]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report = ended.json();
    assert_eq!(calls_of(&report, "urgent"), planted());
    assert_eq!(rules(&report), named(&PLANTED), "{report}");
    // Neither of them has a system call for it.
    let systems = report["threads"][0]["calls"].as_array().unwrap();
    let kernel: Vec<&str> = systems.iter().map(|call| call["name"].as_str().unwrap()).collect();
    assert_eq!((report["threads"].as_array().unwrap().len(), kernel), (1, vec!["clock_nanosleep"]), "{report}");
    let finding = |rule: &str, place: &str| {
        let findings = report["findings"].as_array().unwrap();
        let found = findings.iter().find(|one| one["rule"] == rule && one["stack"][0]["function"] == place);
        found.unwrap_or_else(|| panic!("no {rule} of {place}: {report}")).clone()
    };
    assert_eq!(finding("heap-allocation", "allocates")["count"], CYCLES);
    assert_eq!(finding("lock-that-may-wait", "locks_own")["count"], CYCLES);
    let shared = finding("lock-across-priorities", "locks_shared");
    assert!(shared["what"].as_str().unwrap().contains("neighbour"), "{shared}");
    assert_eq!(shared["count"], CYCLES);
    assert!(report["interception"]["library"]["elsewhere"].as_array().unwrap().is_empty(), "{report}");
    assert_eq!(report["interception"]["lost"], 0);

    let again =
        |words: &[&str]| audit(&tools, &folder, &[&["--archive", "run", "--settle", "100ms"][..], words].concat());
    assert_eq!(again(&["--deny", "heap-free"]).code, Some(1));
    assert_eq!(again(&["--deny", "heap-free", "--allow", "heap-free"]).code, Some(0));
    let listed = again(&["--format", "calls"]).stdout;
    assert_eq!(listed.lines().filter(|line| line.contains(" calloc(0x3, 0x14,")).count() as u64, CYCLES / 3);
    assert!(again(&["--format", "junit", "--deny", "all"]).stdout.contains("name=\"heap-allocation\""));
}

#[test]
fn a_program_without_these_calls_passes_whatever_its_ordinary_threads_call() {
    let Some(tools) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let good = program(&folder, "library_calls.c", &["-DGOOD"]);
    let words = ["--by", "preload", "--settle", "100ms", "--deny", "all", "--json", "--out", "run", "--", &good];
    let ended = audit(&tools, &folder, &words);
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    assert!(calls_of(&ended.json(), "urgent").is_empty(), "{}", ended.stdout);

    // With --all-threads its calls are recorded, and only then.
    let words = ["--by", "preload", "--all-threads", "--settle", "100ms", "--json", "--out", "all", "--", &good];
    let report = audit(&tools, &folder, &words).json();
    let calls = calls_of(&report, "neighbour");
    assert!(calls[&("malloc".into(), "neighbour".into())] > 50, "{calls:?}");
    assert!(rules(&report).contains("heap-allocation"), "{report}");
}

#[test]
fn programs_that_cannot_be_recorded_are_refused_and_never_called_good() {
    let Some(tools) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fixed = program(&folder, "library_calls.c", &["-static"]);
    let ended = audit(&tools, &folder, &["--by", "preload", "--out", "run", "--", &fixed]);
    assert_eq!(ended.code, Some(2), "{}", ended.shown());
    assert!(ended.stderr.contains("statically") && ended.stderr.contains("dynamically"), "{}", ended.stderr);
    assert!(!folder.path().join("run").exists());
    // Its threads are all ordinary, so nothing was recorded of the C library.
    let many = program(&folder, "many_calls.c", &[]);
    let ended =
        audit(&tools, &folder, &["--by", "preload", "--settle", "100ms", "--deny", "all", "--out", "run", "--", &many]);
    assert_eq!(ended.code, Some(3), "{}", ended.shown());
    assert!(ended.stderr.contains("--all-threads"), "{}", ended.stderr);
}

/// The runtime of RealtimeSanitizer that the Rust toolchain brings. It intercepts functions by name, so it needs no compiler of its own.
fn sanitizer() -> Option<PathBuf> {
    let sysroot = Command::new("rustc").args(["--print", "sysroot"]).output().ok();
    let sysroot = sysroot.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned()).unwrap_or_default();
    let folder = Path::new(&sysroot).join("lib/rustlib/x86_64-unknown-linux-gnu/lib");
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut found = files.filter(|path| path.to_string_lossy().ends_with("_rt.rtsan.a"));
    let runtime = found.next();
    let there = Prepared("RealtimeSanitizer's runtime in the Rust toolchain", runtime.is_some());
    runtime.filter(|_| met(&[there, Program("cc"), Program("addr2line")]))
}

/// Reports of RealtimeSanitizer by function and place.
fn reports_of(folder: &TempDir, runtime: &Path) -> BTreeMap<Place, u64> {
    let whole = format!("-Wl,--whole-archive,{},--no-whole-archive", runtime.display());
    let checked = program(folder, "library_calls.c", &["-DRTSAN", "-pie", "-fPIE", &whole, "-ldl", "-lm"]);
    let options = "halt_on_error=false:suppress_equal_stacks=false:symbolize=false";
    let output = Command::new(&checked).env("RTSAN_OPTIONS", options).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // The first frame of each report is the function itself, and the first one of the program its place.
    let mut places = Vec::new();
    let mut function = None;
    for line in text.lines() {
        if line.starts_with("Intercepted") {
            function = line.split('`').nth(1).map(str::to_owned);
        } else if !line.trim_start().starts_with("#0 ")
            && let Some(offset) = line.split_once(&format!("({checked}+")).and_then(|(_, rest)| rest.split(')').next())
            && let Some(function) = function.take()
        {
            places.push((function, offset.to_owned()));
        }
    }
    let named = functions_at(&checked, places.iter().map(|(_, offset)| offset.as_str()).collect());
    let mut reports = BTreeMap::new();
    for (function, offset) in places {
        *reports.entry((function, named[&offset].clone())).or_default() += 1;
    }
    reports
}

/// The functions at addresses of a program that runs at any.
fn functions_at(program: &str, offsets: BTreeSet<&str>) -> BTreeMap<String, String> {
    let output = Command::new("addr2line").args(["-f", "-e", program]).args(&offsets).output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let functions = text.lines().step_by(2).map(str::to_owned);
    offsets.into_iter().map(str::to_owned).zip(functions).collect()
}

#[test]
fn the_audit_lists_what_realtime_sanitizer_reports() {
    let (Some(tools), Some(runtime)) = (prepared(), sanitizer()) else { return };
    let folder = tempfile::tempdir().unwrap();
    let reports = reports_of(&folder, &runtime);
    let plain = program(&folder, "library_calls.c", &[]);
    let words = ["--by", "preload", "--settle", "100ms", "--json", "--out", "run", "--", &plain];
    let mut calls = calls_of(&audit(&tools, &folder, &words).json(), "urgent");
    // The one function of the program that RealtimeSanitizer does not intercept.
    assert_eq!(calls.remove(&("pthread_spin_unlock".into(), "spins".into())), Some(CYCLES));
    assert!(reports.len() > 15, "{reports:?}");
    assert_eq!(calls, reports);
}
