//! Loads where nothing else runs: what they do, that they do it again, and what a change costs them.

use crate::inspected::Inspected;
use crate::lab::{KERNEL, Lab, text};
use archive::load::BUILTIN_LOADS;
use archive::manifest::RunState;
use archive::reader::Run;
use archive::samples_file;
use archive::settings::{LoadRequest, RunSettings, SnapshotMode, TraceSettings};
use runner::run::{RunRequest, TimeLimits};
use runner::stop::StopRequests;
use serde_json::Value;
use std::time::Duration;

const LINE: &str = "tardy-load: a line for the console";
const PRINTK: &[&str] = &["/proc/sys/kernel/printk", "/proc/sys/kernel/printk_devkmsg"];
const PATIENCE: Duration = Duration::from_secs(240);

/// A machine whose console takes errors only, and whose log, as ever, ten lines of a program and then none for 5 s.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn lines_of_the_load_printk_reach_the_console_and_its_levels_go_back() {
    let lab = Lab::with(KERNEL, &["--append", "loglevel=4"]);
    let mut target = Inspected::new(lab.machine(), PRINTK, &lab.path(""));
    let settings = RunSettings {
        duration_ns: Some(5_000_000_000),
        loads: vec![LoadRequest::Builtin { name: "printk".into(), workers: 1 }],
        trace: TraceSettings { mode: SnapshotMode::Off, ..TraceSettings::default() },
        ..RunSettings::default()
    };
    let request = RunRequest {
        id: "printk".into(),
        directory: lab.path("run"),
        command: Vec::new(),
        tool_version: "0".into(),
        meter: "tardy-meter".into(),
        limits: TimeLimits { prepare: PATIENCE, ..TimeLimits::of(&settings, PATIENCE) },
        settings,
    };
    let outcome = runner::run::run(&mut target, &request, &StopRequests::default(), &mut |_| {}).unwrap();
    assert_eq!(outcome.state, RunState::Complete, "{:?}", outcome.problem);
    let (before, after) = (target.before.unwrap(), target.after.unwrap());
    assert!(
        before[PRINTK[0]].as_ref().unwrap().starts_with("4\t") && before[PRINTK[1]].as_deref() == Some("ratelimit\n"),
        "{before:?}"
    );
    assert_eq!(before, after);

    let written = lab.archive().loads[0].progress;
    let console = text(&lab.path("run/console.log"));
    let shown = console.lines().filter(|line| line.contains(LINE)).count() as u64;
    eprintln!("{written} lines written, {shown} on the console");
    // The kernel marks what it left out, and drops what the console is too slow for only when its log is full.
    assert!(shown > 100 && shown <= written, "{shown} of {written} lines\n{console}");
    assert!(!console.contains("output lines suppressed due to ratelimiting"), "{console}");
    let whole = console.lines().filter(|line| line.contains(LINE)).all(|line| line.matches(LINE).count() == 1);
    assert!(whole, "two lines run into one: {console}");
}

/// A run of the lab's machine in virtual time.
fn measured(lab: &Lab, out: &str, words: &[&str]) -> Run {
    let all = [&["run", "--target", "vm", "--duration", "300ms", "--out", out][..], words].concat();
    let ended = lab.tardy(&all).output().unwrap();
    assert!(ended.status.success(), "{words:?}: {}", String::from_utf8_lossy(&ended.stderr));
    Run::open(lab.path(out)).unwrap()
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn every_load_that_is_bounded_by_work_repeats_in_virtual_time() {
    let lab = Lab::with(KERNEL, &["--virtual-time"]);
    let alone = |name: &&str| !["messaging"].contains(name);
    let names: Vec<&str> =
        BUILTIN_LOADS.iter().filter(|load| load.by_work && load.parts.is_empty()).map(|load| load.name).collect();
    // One that outnumbers all others by its processes would leave them nothing to do.
    let (together, crowds): (Vec<&str>, Vec<&str>) = names.into_iter().partition(alone);
    for group in [together, crowds] {
        let words: Vec<&str> = group.iter().flat_map(|name| ["--load", *name]).collect();
        let [one, two] = ["one", "two"].map(|out| {
            let out = format!("{}-{out}", group[0]);
            let run = measured(&lab, &out, &words);
            let samples = samples_file::bytes(&lab.path(&out), 0).unwrap();
            let progress: Vec<(String, u64)> = run.loads.into_iter().map(|load| (load.name, load.progress)).collect();
            (samples, progress)
        });
        eprintln!("{:?}", one.1);
        assert_eq!(one.1.len(), group.len());
        assert!(one.0.len() > 1000 && one == two, "{:?} and {:?}", one.1, two.1);
    }
}

/// In virtual time the price of a change is no matter of luck: each event that is recorded is instructions that the load does
/// not get.
#[test]
#[ignore = "boots virtual machines: make e2e"]
fn what_tracing_costs_is_in_the_table_of_the_same_work() {
    let lab = Lab::with(KERNEL, &["--virtual-time"]);
    let load = ["--load", "dentry", "--load", "fork"];
    let without = measured(&lab, "without", &load);
    let with = measured(&lab, "with", &[&load[..], &["--tracer", "function"]].concat());
    let compared = lab.tardy(&["compare", "without", "with", "--json"]).output().unwrap();
    let compared: Value = serde_json::from_slice(&compared.stdout).unwrap();
    let figures = compared["comparison"]["figures"].as_array().unwrap();
    for (name, unit) in [("dentry", "entries/s"), ("fork", "processes/s")] {
        let figure = figures.iter().find(|figure| figure["name"] == name).unwrap();
        assert_eq!((figure["work"].as_bool(), figure["unit"].as_str()), (Some(true), Some(unit)));
        let [a, b] = ["a", "b"].map(|side| figure[side].as_f64().unwrap());
        eprintln!("{name}: {a:.0} {unit} without the function tracer, {b:.0} with it");
        assert!(b > 0.0 && b < a / 2.0, "{figure}");
        // The rate is that of the load's own count.
        for (run, rate) in [(&without, a), (&with, b)] {
            let counted = run.loads.iter().find(|load| load.name == name).unwrap().progress as f64;
            assert!((counted / rate - 0.3).abs() < 0.2, "{counted} in a run of 0.3 s at {rate} a second");
        }
    }
    let page = lab.tardy(&["compare", "without", "with"]).output().unwrap();
    let page = String::from_utf8(page.stdout).unwrap();
    assert!(page.contains("the same work") && page.contains("dentry, entries/s"), "{page}");
}
