//! Programs of several kinds, each audited by both ways on this machine: of C and Rust, with glibc and musl, scripts, 32 bit.

use crate::audit_intercepted_live::{audit, prepared, program};
use crate::audit_live::{PLANTED, named, rules};
use prerequisites::Prerequisite::{Kernel, Prepared, Program};
use prerequisites::met;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Habits of `loop_32.c`, which runs without a real-time policy.
const HABITS_OF_32_BIT: [&str; 4] = ["memory-not-locked", "no-real-time-policy", "sched-yield", "timer-slack"];

const GLIBC: &str = "x86_64-unknown-linux-gnu";
const MUSL: &str = "x86_64-unknown-linux-musl";

fn rustc(words: &[&str]) -> Command {
    let mut compiler = Command::new("rustc");
    compiler.args(words);
    compiler
}

fn has_musl() -> bool {
    let printed = rustc(&["--print", "target-libdir", "--target", MUSL]).output();
    printed.is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_dir())
}

/// Compiles `habits.rs`; `options` decide whether it has its habits.
fn of_rust(folder: &TempDir, name: &str, target: &str, options: &[&str]) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/habits.rs");
    let binary = folder.path().join(name);
    let mut compiler = rustc(&["--edition", "2024", "-O", "-g", "-C", "force-frame-pointers=yes", "--target", target]);
    if target == MUSL {
        compiler.args(["-C", "linker=rust-lld"]);
    }
    compiler.args(["--check-cfg", "cfg(bad)"]).args(options).arg("-o").arg(&binary).arg(source);
    assert!(compiler.status().unwrap().success());
    binary.display().to_string()
}

/// Audits a program by a way, and requires these habits of it.
fn has(tools: &(PathBuf, PathBuf), folder: &TempDir, (way, program): (&str, &str), habits: &[&str]) {
    let out = format!("{}-{way}", Path::new(program).file_name().unwrap().display());
    let output = folder.path().join("output").display().to_string();
    let words = ["--by", way, "--settle", "100ms", "--json", "--out", &out, "--", program, &output];
    let ended = audit(tools, folder, &words);
    assert_eq!(ended.code, Some(0), "{program} {way}: {}", ended.stderr);
    let report = ended.json();
    assert_eq!(rules(&report), named(habits), "{program} {way}: {report}");
    // A static program loads no library.
    let is_static = program.ends_with("musl");
    assert_eq!(ended.stderr.contains("is linked statically"), is_static && way == "interception", "{}", ended.stderr);
    assert_eq!(report["interception"].is_object(), !is_static && way == "interception", "{report}");
}

#[test]
fn programs_of_glibc_and_musl_in_c_and_rust_have_the_same_habits_by_both_ways() {
    let musl = Prepared("the Rust target x86_64-unknown-linux-musl (make deps)", has_musl());
    let Some(tools) = prepared().filter(|_| met(&[Program("rustc"), musl])) else { return };
    let folder = tempfile::tempdir().unwrap();
    let bad = [
        program(&folder, "habits.c", &["-DBAD"]),
        of_rust(&folder, "rust", GLIBC, &["--cfg", "bad"]),
        of_rust(&folder, "rust-musl", MUSL, &["--cfg", "bad"]),
    ];
    let good = [of_rust(&folder, "good", GLIBC, &[]), of_rust(&folder, "good-musl", MUSL, &[])];
    for way in ["trace", "interception"] {
        bad.iter().for_each(|program| has(&tools, &folder, (way, program), &PLANTED));
        good.iter().for_each(|program| has(&tools, &folder, (way, program), &[]));
    }
}

#[test]
fn the_calls_of_a_32_bit_program_have_the_names_of_its_own_numbers() {
    let Some(tools) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let narrow = ["-m32", "-static", "-nostdlib", "-ffreestanding", "-fno-pie", "-no-pie"];
    let program = program(&folder, "loop_32.c", &narrow);
    let runs = Command::new(&program).status().is_ok_and(|status| status.success());
    if !met(&[Kernel("32-bit programs (IA32_EMULATION)", runs)]) {
        return;
    }
    let words = ["--by", "interception", "--settle", "100ms", "--json", "--out", "run", "--", &program];
    let ended = audit(&tools, &folder, &words);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("is built for x86 with 32-bit addresses"), "{}", ended.stderr);
    let report = ended.json();
    assert_eq!(rules(&report), named(&HABITS_OF_32_BIT), "{report}");
    let list = audit(&tools, &folder, &["--archive", "run", "--format", "calls"]).stdout;
    assert!(list.lines().filter(|line| line.contains(" clock_nanosleep(0x1, 0x1, ")).count() > 250, "{list}");
}

#[test]
fn a_script_is_audited_through_its_interpreter() {
    let Some(tools) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let script = folder.path().join("script");
    std::fs::write(&script, "#!/usr/bin/env sh\numask 027; sleep 0.05; sleep 0.05; umask 022\n").unwrap();
    assert!(Command::new("chmod").arg("755").arg(&script).status().unwrap().success());
    let words = ["--by", "interception", "--settle", "0", "--format", "calls", "--", script.to_str().unwrap()];
    let ended = audit(&tools, &folder, &words);
    assert!(ended.code == Some(0) && ended.stderr.is_empty(), "{}", ended.stderr);
    assert!(ended.stdout.contains("umask(0x17,"), "{}", ended.stdout);
}
