//! `tardy watch --stacks` with the real meter and programs with planted slow functions: which function of a late cycle is named.

use archive::explanation::Explanation;
use archive::own_code::{CodeName, CodeTime};
use archive::reader::Run;
use archive::watched::WatchedKind;
use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use prerequisites::Prerequisite::{Program, Tracefs};
use prerequisites::met;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Late cycles of a program. A busy machine may hide some behind others.
const LATE: &str = "8";
/// Runs until the planted functions were named.
const ATTEMPTS: usize = 3;

fn done(program: &str, words: &[&str], folder: &TempDir) {
    let ended = Command::new(program).args(words).current_dir(folder.path()).output().unwrap();
    assert!(ended.status.success(), "{program}: {}", String::from_utf8_lossy(&ended.stderr));
}

fn source(name: &str) -> String {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(name).display().to_string()
}

fn watch(meter: &Path, folder: &TempDir, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command
        .args(["watch", "--beside-others", "--all-threads", "--quiet", "--cycle-limit", "2ms"])
        .args(words)
        .current_dir(folder.path());
    command.env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.path().join("state"));
    Ended::of(command.output().unwrap())
}

/// The planted function of each late cycle that was captured, and its explanation.
fn explained(directory: PathBuf, truth: &Path) -> Vec<(String, Explanation)> {
    let run = Run::open(directory).unwrap();
    let explanations = run.explanations().unwrap();
    let truth = std::fs::read_to_string(truth).unwrap();
    let planted = truth.lines().filter_map(|line| {
        let (instant, name) = line.split_once(' ')?;
        let instant: i64 = instant.parse().ok()?;
        // Another thread of the program may have a longer cycle around it.
        let holding = run.spikes.iter().filter(|spike| {
            spike.watched == Some(WatchedKind::Cycle)
                && (spike.sample.due_ns..spike.sample.seen_ns()).contains(&instant)
        });
        let spike = holding.min_by_key(|spike| spike.sample.latency_ns)?;
        let explanation = explanations.iter().find(|explanation| explanation.spike == spike.number)?;
        Some((name.to_owned(), explanation.clone()))
    });
    planted.collect()
}

fn name(time: &CodeTime) -> Option<&str> {
    if let CodeName::Function { name, .. } = &time.code { Some(name) } else { None }
}

/// Whether the function is blamed, has most of the time in the table, and took longer than usual.
fn names(planted: &str, explanation: &Explanation) -> bool {
    let Some(own) = &explanation.own_code else { return false };
    let Some(slow) = &own.slow else { return false };
    let blamed = slow.inner.as_ref().unwrap_or(&slow.outer);
    name(blamed) == Some(planted)
        && own.functions.first().and_then(name) == Some(planted)
        && blamed.excess_ns() > 1_000_000
}

fn is_named(folder: &TempDir, program: &str, depth: &str) {
    let Some(meter) = real_meter() else { return };
    let mut last = Vec::new();
    for attempt in 0..ATTEMPTS {
        let out = format!("run-{depth}-{attempt}");
        let ended = watch(&meter, folder, &["--stacks", "--out", &out, "--", program, depth, LATE, "truth"]);
        assert!(matches!(ended.code, Some(0 | 124)), "{}", ended.stderr);
        last = explained(folder.path().join(&out), &folder.path().join("truth"));
        let right = last.iter().filter(|(planted, explanation)| names(planted, explanation)).count();
        let said = last.iter().flat_map(|(_, explanation)| &explanation.findings);
        let in_sentence =
            said.filter(|finding| last.iter().any(|(planted, _)| finding.sentence.contains(planted))).count();
        if right >= 3 && right * 4 >= last.len() * 3 && in_sentence > 0 {
            return;
        }
    }
    panic!("depth {depth}: {:?}", last.iter().map(|(planted, of)| (planted, &of.own_code)).collect::<Vec<_>>());
}

#[test]
fn a_planted_slow_function_is_the_first_one_named() {
    if !met(&[Tracefs, Program("gcc"), Program("g++"), Program("objcopy")]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    done("gcc", &["-O2", "-fomit-frame-pointer", "-o", "c", &source("late_functions.c")], &folder);
    is_named(&folder, "./c", "20");
    done(
        "g++",
        &["-std=c++17", "-O2", "-g", "-fomit-frame-pointer", "-o", "cpp", &source("late_functions.cpp")],
        &folder,
    );
    done("objcopy", &["--only-keep-debug", "cpp", "cpp.debug"], &folder);
    done("objcopy", &["--strip-all", "--add-gnu-debuglink=cpp.debug", "cpp"], &folder);
    is_named(&folder, "./cpp", "5");
    let rust =
        ["-O", "--edition", "2024", "--crate-name", "late_functions", "-C", "force-frame-pointers=yes", "-o", "rs"];
    done("rustc", &[&rust[..], &[&source("late_functions.rs")]].concat(), &folder);
    is_named(&folder, "./rs", "1");
}

/// Whether the place where the cycle slept longest is in the function, and the sentence of a finding says so.
fn places(planted: &str, explanation: &Explanation) -> bool {
    let longest = explanation.own_code.as_ref().and_then(|own| own.waits.first());
    let is_in = |code: &CodeName| matches!(code, CodeName::Function { name, .. } if name == planted);
    let said = explanation.findings.iter().any(|finding| finding.sentence.contains(planted));
    longest.is_some_and(|wait| wait.ns > 2_000_000 && wait.frames.iter().any(is_in)) && said
}

#[test]
fn the_place_where_a_late_cycle_slept_is_named_with_the_kernels_functions_below_it() {
    let Some(meter) = real_meter().filter(|_| met(&[Tracefs, Program("gcc")])) else { return };
    let folder = tempfile::tempdir().unwrap();
    done("gcc", &["-O2", "-fomit-frame-pointer", "-o", "c", &source("late_waits.c")], &folder);
    let mut last = Vec::new();
    for attempt in 0..ATTEMPTS {
        let out = format!("run-{attempt}");
        let ended = watch(&meter, &folder, &["--stacks", "--out", &out, "--", "./c", LATE, "truth"]);
        assert!(matches!(ended.code, Some(0 | 124)), "{}", ended.stderr);
        last = explained(folder.path().join(&out), &folder.path().join("truth"));
        let right = last.iter().filter(|(planted, explanation)| places(planted, explanation)).count();
        if right >= 4 && right * 4 >= last.len() * 3 {
            let waits = last.iter().filter_map(|(_, explanation)| explanation.own_code.as_ref()?.waits.first());
            let names: Vec<&str> = waits.flat_map(|wait| &wait.frames).filter_map(kernel_name).collect();
            assert!(names.iter().any(|name| name.contains("futex")), "{names:?}");
            return;
        }
    }
    let found = last.iter().map(|(planted, of)| (planted, of.own_code.as_ref().map(|own| &own.waits), &of.findings));
    panic!("{:#?}", found.collect::<Vec<_>>());
}

fn kernel_name(code: &CodeName) -> Option<&str> {
    if let CodeName::KernelFunction { name } = code { Some(name) } else { None }
}

#[test]
fn a_changed_program_names_nothing_and_a_watch_without_stacks_has_none() {
    let Some(meter) = real_meter().filter(|_| met(&[Tracefs, Program("gcc")])) else { return };
    let folder = tempfile::tempdir().unwrap();
    done("gcc", &["-O2", "-o", "c", &source("late_functions.c")], &folder);
    watch(&meter, &folder, &["--out", "without", "--", "./c", "1", "2", "truth"]);
    let plain = explained(folder.path().join("without"), &folder.path().join("truth"));
    assert!(plain.iter().all(|(_, explanation)| explanation.own_code.is_none()));
    watch(&meter, &folder, &["--stacks", "--out", "with", "--", "./c", "1", LATE, "truth"]);
    done("gcc", &["-O1", "-o", "c", &source("late_functions.c")], &folder);
    let directory = folder.path().join("with");
    let account = account::Account::open(&directory, account::ExplanationSource::Traces).unwrap();
    let own = account.explanations().iter().filter_map(|explanation| explanation.own_code.as_ref());
    let functions: Vec<&CodeTime> = own.flat_map(|own| &own.functions).collect();
    let of_program = |time: &&&CodeTime| matches!(&time.code, CodeName::Function { file, .. } if file.ends_with("/c"));
    assert_eq!(functions.iter().filter(of_program).count(), 0);
    let unnamed = |time: &&&CodeTime| matches!(&time.code, CodeName::Unnamed { file } if file.ends_with("/c"));
    assert!(functions.iter().filter(unnamed).count() > 0, "{functions:?}");
}
