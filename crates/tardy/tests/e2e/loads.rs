//! Loads in virtual machines: they have their effect, and they repeat it exactly.

use crate::inspected::Inspected;
use crate::lab::{KERNEL, Lab, text};
use archive::load::BUILTIN_LOADS;
use archive::reader::Run;
use archive::samples_file;
use archive::settings::{LoadRequest, RunSettings, SnapshotMode, TraceSettings};
use std::time::Duration;

const LINE: &str = "tardy-load: a line for the console";
const PRINTK: &[&str] = &["/proc/sys/kernel/printk", "/proc/sys/kernel/printk_devkmsg"];
const PATIENCE: Duration = Duration::from_secs(240);

/// A machine whose console shows only errors, and whose log accepts ten lines of a program per 5 s, as by default.
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
    target.measure(settings, lab.path("run"), PATIENCE);
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
    // Some are written after the last count.
    assert!(written > 100 && shown * 10 >= written * 9, "{shown} of {written} lines\n{console}");
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
    let loads = BUILTIN_LOADS.iter().filter(|load| load.by_work && load.parts.is_empty());
    // A load that outnumbers all others by its processes would leave them no CPU time.
    let (crowds, others): (Vec<&str>, Vec<&str>) = loads.map(|load| load.name).partition(|name| *name == "messaging");
    for group in std::iter::once(&crowds[..]).chain(others.chunks(4)) {
        let words: Vec<&str> = group.iter().flat_map(|name| ["--load", *name]).collect();
        let [one, two] = ["one", "two"].map(|out| {
            let out = format!("{}-{out}", group[0]);
            let run = measured(&lab, &out, &words);
            let samples = samples_file::bytes(&lab.path(&out), 0).unwrap();
            let progress: Vec<(String, u64)> = run.loads.into_iter().map(|load| (load.name, load.progress)).collect();
            (samples, progress)
        });
        eprintln!("{:?}", one.1);
        assert!(one.1.len() == group.len() && one.1.iter().all(|(_, progress)| *progress > 0), "{:?}", one.1);
        assert!(one.0.len() > 1000 && one == two, "{:?} and {:?}", one.1, two.1);
    }
}
