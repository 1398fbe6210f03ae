//! `tardy audit` of programs that fault, map or call futex(2) up to a million times a second, and never wait.

use crate::audit_intercepted_live::prepared;
use crate::audit_live::meter;
use fixtures::fake_meter::Ended;
use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Most memory of the tool, and of the meter, in KiB. The pages of the programs themselves do not count: without
/// optimisation a program is several times as large as an installed one.
const MEMORY_KB_MAX: u64 = 64 << 10;
const SECONDS: u32 = 4;
/// Part of the time whose rate is that of the whole.
const REPRESENTATIVE_PERCENT: f64 = 40.0;

/// (first argument of `storm.c`, rule, the thing that the finding is about, function at the place)
const STORMS: [(&str, &str, &str, &str); 3] = [
    ("fault", "page-fault", "a page of anonymous memory", "faulting"),
    ("mmap", "allocation", "munmap", "mapping"),
    ("futex", "frequent-calls", "futex", "asking"),
];

/// An audit that has ended.
struct Audited {
    report: Value,
    /// Largest memory of the tool and of the meter, in KiB.
    tool_kb: u64,
    meter_kb: u64,
    /// The program's own count, after its first second unless it records itself, and its rate.
    done: u64,
    per_second: f64,
    took: Duration,
}

fn compiled(folder: &TempDir, options: &[&str]) -> String {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/storm.c");
    let binary = folder.path().join("storm");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-fno-omit-frame-pointer"]).args(options).arg("-o").arg(&binary).arg(source);
    assert!(compiler.status().unwrap().success());
    binary.display().to_string()
}

/// Memory that a process uses beside the pages of its files, in KiB.
fn own_memory_kb(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    line.split_whitespace().next()?.parse().ok()
}

/// The process that the tool started as its meter.
fn meter_of(tool: u32) -> Option<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{tool}/task")).ok()?;
    let children = tasks.flatten().filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    let numbers: Vec<u32> =
        children.flat_map(|text| text.split(' ').filter_map(|word| word.parse().ok()).collect::<Vec<_>>()).collect();
    let is_meter = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.starts_with("tardy-meter"))
    };
    numbers.into_iter().find(is_meter)
}

/// `library`: the one that records the calls inside of the program.
fn audit(meter: &Path, library: Option<&Path>, folder: &TempDir, program: &[&str]) -> Audited {
    let _ = std::fs::remove_dir_all(folder.path().join("run"));
    let seconds = SECONDS.to_string();
    let by = if library.is_some() { "interception" } else { "trace" };
    let words = ["audit", "--by", by, "--json", "--all-threads", "--out", "run", "--"];
    let [binary, kind, rate, rest @ ..] = program else { panic!("{program:?}") };
    let done = folder.path().join("done");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tardy"));
    command.args(words).args([binary, kind, rate, seconds.as_str()]).arg(&done).args(rest).current_dir(folder.path());
    command.env("TARDY_METER", meter).env("TARDY_STATE_DIR", folder.path().join("state"));
    command.envs(library.map(|library| ("TARDY_INTERCEPTION_LIBRARY", library)));
    let (begin, mut tool_kb, mut meter_kb) = (Instant::now(), 0, 0);
    let output = folder.path().join("output");
    let errors = folder.path().join("errors");
    let file = |path: &Path| Stdio::from(std::fs::File::create(path).unwrap());
    let mut tool = command.stdin(Stdio::null()).stdout(file(&output)).stderr(file(&errors)).spawn().unwrap();
    let status = loop {
        tool_kb = tool_kb.max(own_memory_kb(tool.id()).unwrap_or(0));
        meter_kb = meter_kb.max(meter_of(tool.id()).and_then(own_memory_kb).unwrap_or(0));
        match tool.try_wait().unwrap() {
            Some(status) => break status,
            None => sleep(Duration::from_millis(5)),
        }
    };
    let read = |path: &Path| std::fs::read(path).unwrap();
    let ended = Ended::of(std::process::Output { status, stdout: read(&output), stderr: read(&errors) });
    assert_eq!(ended.code, Some(0), "{program:?}: {}", ended.stderr);
    let counted = std::fs::read_to_string(&done).unwrap();
    let words: Vec<f64> = counted.split_whitespace().map(|word| word.parse().unwrap()).collect();
    let &[settled, length, all] = &words[..] else { panic!("{counted}") };
    let per_second = settled / length;
    // The library takes a part of the settling time before the program begins.
    let done = if library.is_some() { all as u64 } else { settled as u64 };
    Audited { report: ended.json(), tool_kb, meter_kb, done, per_second, took: begin.elapsed() }
}

/// Requires the finding of a storm, with its place, an honest count and rate, and the memory.
fn has_its_finding(audited: &Audited, name: &str, (_, rule, what, function): (&str, &str, &str, &str)) {
    let report = &audited.report;
    let is_it = |finding: &&Value| finding["rule"] == rule && finding["what"] == what;
    let finding = report["findings"].as_array().unwrap().iter().find(is_it);
    let finding = finding.unwrap_or_else(|| panic!("{name}: no {rule} about {what} in {report}"));
    let stack = finding["stack"].as_array().unwrap();
    assert!(stack.iter().any(|frame| frame["function"] == function), "{name}: {finding}");
    let (count, rate) = (finding["count"].as_u64().unwrap(), finding["per_second"].as_u64().unwrap());
    let thread = report["threads"].as_array().unwrap().iter().find(|thread| thread["tid"] == finding["tid"]).unwrap();
    let percent = 100.0 * thread["recorded_ns"].as_f64().unwrap() / thread["loop_ns"].as_f64().unwrap();
    println!(
        "{name}: {} done at {:.0} a second; found {count} at {rate} a second in {percent:.0} % of the time; {} kB tool, {} kB meter, {:.1} s of which {SECONDS} s recorded",
        audited.done,
        audited.per_second,
        audited.tool_kb,
        audited.meter_kb,
        audited.took.as_secs_f64(),
    );
    // The program and the audit begin to count within a few ms of each other.
    let tolerated = audited.done + audited.done / 20;
    assert!(count <= tolerated && count > 0, "{name}: {count} found, {} done", audited.done);
    if finding["is_lower_bound"] == false && report["interception"].is_null() {
        assert!(count + audited.done / 10 >= audited.done, "{name}: {count} found, {} done, none lost", audited.done);
    }
    // Of a small part of the time, the rate is that of the moments in which the recorder kept up: it is printed above.
    let counts_lost_calls = rule != "page-fault" && report["interception"].is_object();
    if percent >= REPRESENTATIVE_PERCENT || counts_lost_calls {
        let (rate, done) = (rate as f64, audited.per_second);
        assert!(rate > done / 2.0 && rate < done * 2.0, "{name}: {rate}, {done}");
    }
    assert!(audited.tool_kb <= MEMORY_KB_MAX && audited.meter_kb <= MEMORY_KB_MAX, "{name}");
    assert!(audited.tool_kb > 0 && audited.meter_kb > 0, "{name}: the memory was not read");
}

#[test]
fn a_storm_without_a_wait_is_named_with_its_place_and_rate_in_bounded_memory() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, &["-static"]);
    for storm in STORMS {
        for rate in ["1e4", "1e5", "1e6"] {
            let audited = audit(&meter, None, &folder, &[&program, storm.0, rate]);
            has_its_finding(&audited, &format!("{} {rate}", storm.0), storm);
        }
    }
}

#[test]
fn a_storm_between_waits_is_named_as_well() {
    let Some(meter) = meter() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, &["-static"]);
    for storm in STORMS {
        let audited = audit(&meter, None, &folder, &[&program, storm.0, "1e5", "waits"]);
        has_its_finding(&audited, &format!("{} 1e5 with waits", storm.0), storm);
        let threads = audited.report["threads"].as_array().unwrap();
        assert!(threads.iter().any(|thread| thread["cycles"].as_u64() > Some(10)), "{}", audited.report);
    }
}

#[test]
fn a_storm_that_records_itself_is_named_with_its_place_and_rate() {
    let Some((meter, library)) = prepared() else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = compiled(&folder, &[]);
    for storm in STORMS {
        for rate in ["1e4", "1e5", "1e6"] {
            let audited = audit(&meter, Some(&library), &folder, &[&program, storm.0, rate]);
            assert!(audited.report["interception"].is_object(), "{}", audited.report);
            has_its_finding(&audited, &format!("{} {rate} by interception", storm.0), storm);
        }
    }
}
