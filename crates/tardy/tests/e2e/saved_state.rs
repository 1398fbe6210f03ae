//! A machine that continues from its saved state instead of booting.

use crate::lab::{KERNEL, Lab, assert_ledgers_add_up};
use archive::reader::Run;
use machines::qemu::kernel;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::thread;
use std::time::Duration;

const RESTORED: &str = "resumed from a saved state";
/// Maximum difference between the guest's reset clock and that of the host.
const CLOCK_NS: i64 = 5_000_000_000;
/// Age of the state before it is used; longer than the tolerated clock error.
const AGE: Duration = Duration::from_secs(15);

/// A test with machines that continue from one state. The cache is shared with the user's own targets, so the machines
/// have a unique argument, and their state is removed with the test.
pub fn with_lab(name: &str, test: impl FnOnce(&Lab)) {
    let before = states();
    test(&Lab::with(KERNEL, &["--saved-state", "--append", &format!("tardy_test={name}-{}", std::process::id())]));
    for state in states().iter().filter(|path| !before.contains(path)) {
        fs::remove_file(state).unwrap();
    }
}

fn states() -> Vec<PathBuf> {
    let directory = kernel::cache().unwrap().join("states");
    fs::read_dir(directory).into_iter().flatten().map(|entry| entry.unwrap().path()).collect()
}

fn verified(lab: &Lab) -> (Value, String) {
    let ended = lab.tardy(&["target", "verify", "vm", "--json"]).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let document: Value = serde_json::from_slice(&ended.stdout).unwrap();
    let notices = document["notices"].to_string();
    (document, notices)
}

fn is_restored(run: &Run) -> bool {
    run.problems.iter().any(|problem| problem.text.contains(RESTORED))
}

fn measured(lab: &Lab, directory: &str) -> Run {
    let words = ["run", "--target", "vm", "--duration", "2s", "--load", "dentry", "--out", directory];
    let ended = lab.tardy(&words).output().unwrap();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
    let run = Run::open(lab.path(directory)).unwrap();
    assert!(run.gaps.is_empty(), "{:?}", run.gaps);
    run
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_machine_is_saved_restored_and_booted_where_its_state_is_damaged() {
    let before = states();
    with_lab("restored", |lab| saved_restored_and_booted(lab, &before));
}

fn saved_restored_and_booted(lab: &Lab, before: &[PathBuf]) {
    let (first, _) = verified(lab);
    assert_eq!(first["restored"], false);
    let new: Vec<PathBuf> = states().into_iter().filter(|path| !before.contains(path)).collect();
    let [state] = &new[..] else { panic!("one state was to be saved: {new:?}") };
    thread::sleep(AGE);

    let (second, _) = verified(lab);
    assert_eq!((&second["restored"], &second["kernel_release"]), (&true.into(), &first["kernel_release"]));
    let runs = ["first", "second"].map(|name| measured(lab, name));
    for run in &runs {
        assert!(is_restored(run), "{:?}", run.problems);
        assert_ledgers_add_up(run);
        let manifest = run.manifest.as_ref().unwrap();
        let measured_ns = manifest.started_unix_ns - CLOCK_NS..manifest.ended_unix_ns.unwrap() + CLOCK_NS;
        let spike_ns = run.realtime_offset_ns.unwrap() + run.spikes[0].sample.seen_ns();
        assert!(measured_ns.contains(&spike_ns), "the guest's clock says {spike_ns}, and it was {measured_ns:?}");
    }

    // The beginning identifies the file; the memory follows it.
    fs::File::options().write(true).open(state).unwrap().write_all_at(&[0xff; 4096], 0).unwrap();
    let (third, notices) = verified(lab);
    assert_eq!(third["restored"], false);
    assert!(notices.contains("did not load, so the machine booted"), "{notices}");
    // It was saved again.
    assert!(state.exists());
    assert_eq!(verified(lab).0["restored"], true);
}
