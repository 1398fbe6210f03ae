//! `tardy audit --by interception` on this machine, beside the same audit by trace events.

use fixtures::fake_meter::Ended;
use fixtures::programs::real_meter;
use prerequisites::Prerequisite::{Kernel, Prepared, Program, Tracefs};
use prerequisites::met;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// The meter and the library, if this machine can run both.
pub fn prepared() -> Option<(PathBuf, PathBuf)> {
    let event = Path::new("/sys/kernel/tracing/events/raw_syscalls/sys_enter");
    let calls = Kernel("the event raw_syscalls:sys_enter", event.exists());
    let folder = Path::new(env!("CARGO_BIN_EXE_tardy")).parent().unwrap();
    let places = [folder.join(call_ring::LIBRARY_NAME), folder.join("deps").join(call_ring::LIBRARY_NAME)];
    let library = places.into_iter().find(|path| path.is_file());
    let built = Prepared("libinterception.so beside tardy (cargo build -p interception)", library.is_some());
    let x86_64 = Kernel("x86-64", cfg!(target_arch = "x86_64"));
    real_meter().filter(|_| met(&[Tracefs, Program("cc"), calls, x86_64, built])).zip(library)
}

pub fn program(folder: &TempDir, source: &str, options: &[&str]) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
    let binary = folder.path().join(source.file_stem().unwrap());
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-fno-omit-frame-pointer", "-pthread"]).args(options);
    assert!(compiler.arg("-o").arg(&binary).arg(source).status().unwrap().success());
    binary.display().to_string()
}

pub fn audit(tools: &(PathBuf, PathBuf), folder: &TempDir, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.arg("audit").args(words).current_dir(folder.path());
    command.env("TARDY_METER", &tools.0).env("TARDY_INTERCEPTION_LIBRARY", &tools.1);
    command.env("TARDY_STATE_DIR", folder.path().join("state"));
    Ended::of(command.output().unwrap())
}

/// The calls between the two marks, with their results, without what differs between two runs.
fn between_marks(list: &str) -> Vec<String> {
    let is_mark = |line: &&str, mark: &str| line.contains("umask(") && line.contains(mark);
    let lines = list.lines().skip_while(|line| !is_mark(line, "(0x53,"));
    let short = |line: &str| {
        let name = line.split(' ').nth(2).and_then(|call| call.split('(').next()).unwrap_or_default();
        let result = line.split(" = ").nth(1).and_then(|result| result.split(' ').next()).unwrap_or_default();
        // The parent is another meter in each run.
        if name == "getppid" { name.to_owned() } else { format!("{name} = {result}") }
    };
    let mut kept = Vec::new();
    for line in lines {
        kept.push(short(line));
        if is_mark(&line, "(0xd1,") {
            break;
        }
    }
    kept
}

#[test]
fn interception_and_trace_events_list_the_same_calls_in_the_same_order() {
    let Some(tools) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, "many_calls.c", &[]);
    let list = |by: &str| {
        let words = ["--by", by, "--no-stacks", "--settle", "0", "--out", by, "--format", "calls", "--", &program];
        let ended = audit(&tools, &folder, &words);
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        between_marks(&ended.stdout)
    };
    let (intercepted, traced) = (list("interception"), list("trace"));
    assert!(traced.len() > 100_000, "{}", traced.len());
    assert_eq!(intercepted.len(), traced.len());
    let differs = intercepted.iter().zip(&traced).position(|(one, other)| one != other);
    assert_eq!(differs, None, "{:?}", differs.map(|at| (&intercepted[at], &traced[at])));
}

#[test]
fn an_injected_delay_is_in_the_call_and_an_injected_error_is_its_result() {
    let Some(tools) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, "many_calls.c", &[]);
    let rule = "lseek: delay 2ms, 1 in 1000, seed 7";
    let words = ["--by", "interception", "--inject", rule, "--inject", "fstat: EIO", "--inject", "newfstatat: EIO"];
    let rest = ["--settle", "0", "--out", "run", "--json", "--", &program];
    let ended = audit(&tools, &folder, &[&words[..], &rest].concat());
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let report = ended.json();
    let calls = report["threads"][0]["calls"].as_array().unwrap();
    let seeks = calls.iter().find(|call| call["name"] == "lseek").unwrap();
    assert!(seeks["worst_ns"].as_i64() >= Some(2_000_000), "{seeks}");
    let (made, delayed) = (seeks["count"].as_u64().unwrap(), seeks["injected"].as_u64().unwrap());
    assert!(made > 10_000 && (made / 3000..made / 300).contains(&delayed), "{seeks}");
    // Of a hundred rounds between two pauses each has a refused fstat; a delay makes the longest of them longer.
    let work = &report["threads"][0]["work"];
    assert!(work["with"]["cycles"].as_u64() > Some(100), "{work}");
    assert!(work["with"]["worst_ns"].as_i64() >= Some(2_000_000), "{work}");
    let (patched, processes) = (&report["interception"]["patched"], &report["interception"]["processes"]);
    assert!(patched.as_u64() > Some(500) && processes.as_u64() >= Some(1), "{report}");
    let list = audit(&tools, &folder, &["--archive", "run", "--format", "calls"]).stdout;
    let refused = list.lines().filter(|line| line.contains("fstat") && line.contains(" = -5 "));
    let page = audit(&tools, &folder, &["--archive", "run", "--settle", "0"]).stdout;
    assert!(page.matches("injected").count() >= 2, "of the work and of the calls: {page}");
    assert!(refused.count() > 10_000, "{}", &list[..2000.min(list.len())]);
}

#[test]
fn a_static_program_is_audited_by_trace_events_and_says_so() {
    let Some(tools) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = program(&folder, "many_calls.c", &["-static"]);
    let ended =
        audit(&tools, &folder, &["--by", "interception", "--settle", "0", "--json", "--out", "run", "--", &program]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(ended.stderr.contains("linked statically"), "{}", ended.stderr);
    let report = ended.json();
    assert!(report["interception"].is_null() && report["cost_ns_per_call"].as_u64() > Some(0), "{report}");
    let words = ["--by", "interception", "--inject", "read: EINTR", "--", &program];
    assert_eq!(audit(&tools, &folder, &words).code, Some(2));
}

#[test]
fn what_interception_cannot_do_is_refused_with_the_fix() {
    let folder = tempfile::tempdir().unwrap();
    let tools = (PathBuf::from("/bin/true"), PathBuf::from("/bin/true"));
    let refused = |words: &[&str], fix: &str| {
        let ended = audit(&tools, &folder, words);
        assert_eq!(ended.code, Some(2), "{words:?}: {}", ended.stderr);
        assert!(ended.stderr.contains(fix), "{words:?}: {}", ended.stderr);
    };
    refused(&["--by", "interception", "--pid", "1"], "-- COMMAND");
    refused(&["--inject", "read: EINTR", "--", "/bin/true"], "--by interception");
    refused(&["--inject", "reed: EINTR", "--", "/bin/true"], "man 2 syscalls");
}
