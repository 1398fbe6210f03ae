//! `tardy watch` on a real kernel that detects maxima itself, with two misbehaving programs.

use crate::lab::{KERNEL, Lab, assert_ledgers_add_up};
use archive::explanation::{Confidence, Finding};
use archive::reader::Run;
use archive::settings::SnapshotMode;
use archive::spike::Spike;
use archive::watched::WatchedKind;

/// `cycle_limit`: a machine that is stopped occasionally has larger maxima than the cause of interest.
fn names(name: &str, words: &[&str], cycle_limit: &str, thread: &str, culprit: &str) {
    let lab = Lab::with(KERNEL, &[]);
    let program = lab.program(name).display().to_string();
    let words =
        [&["watch", "--target", "vm", "--out", "run", "--cycle-limit", cycle_limit, "--", &program], words].concat();
    let ended = lab.tardy(&words).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert!(matches!(ended.status.code(), Some(0 | 124)), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    let run = lab.archive();
    // First the output of the command, then the result.
    let (printed, _) = said.split_once("EMULATED MACHINE").unwrap_or_else(|| panic!("{said}"));
    assert!(printed.lines().any(|line| line.starts_with(name) && line.contains(" cycles")), "{said}");
    assert_eq!(run.effective.as_ref().unwrap().snapshot_mode, SnapshotMode::Onmax);
    let explanations = assert_ledgers_add_up(&run);
    let of_thread = |kind| run.watched.values().find(|series| series.name == thread && series.kind == kind);
    for kind in [WatchedKind::Timer, WatchedKind::Cycle] {
        let series = of_thread(kind).unwrap_or_else(|| panic!("no {kind:?} of {thread}: {said}"));
        assert!(run.threads[&series.thread].totals.cycles > 10, "{said}");
    }
    // A snapshot that the kernel itself takes at a wake-up ends at that wake-up.
    let by_kernel = run.spikes.iter().filter(|spike| spike.watched == Some(WatchedKind::Timer)).any(|spike| {
        let put_aside_ns = spike.snapshot.as_ref().and_then(|snapshot| snapshot.put_aside_ns);
        put_aside_ns.is_some_and(|put_aside_ns| put_aside_ns.abs_diff(spike.sample.seen_ns()) < 1_000_000)
    });
    assert!(by_kernel, "the kernel found no maximum by itself: {said}");
    let is_named = |spike: &Spike| {
        let mut of_spike = explanations.iter().filter(|explanation| explanation.spike == spike.number);
        // A busy host takes more of the time than the program does, and stands before it.
        let proves = |finding: &Finding| finding.culprit.id() == culprit && finding.confidence > Confidence::Hint;
        of_spike.any(|explanation| explanation.findings.iter().any(proves))
    };
    let of_name = |spike: &&Spike| run.watched.get(&spike.thread).is_some_and(|series| series.name == thread);
    assert!(run.spikes.iter().filter(of_name).any(is_named), "{culprit} of {thread} is not among the causes: {said}");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_priority_inversion_is_named_in_a_virtual_machine() {
    names("inversion", &["60", "8"], "38ms", "arm-high", "priority-inversion");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn page_faults_in_a_loop_are_named_in_a_virtual_machine() {
    names("fault", &["80", "80", "256"], "3ms", "fault", "page-fault");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn a_program_is_watched_in_virtual_time_and_the_same_twice() {
    let lab = Lab::with(KERNEL, &["--virtual-time"]);
    let program = lab.program("fault").display().to_string();
    let watched = |out: &str| {
        let words = ["watch", "--target", "vm", "--out", out, "--json", "--", &program, "20", "20", "256"];
        let ended = lab.tardy(&words).output().unwrap();
        let said = String::from_utf8_lossy(&ended.stdout).into_owned();
        assert!(ended.status.success(), "{said}{}", String::from_utf8_lossy(&ended.stderr));
        let run = Run::open(lab.path(out)).unwrap();
        assert!(run.manifest.as_ref().unwrap().virtual_time && said.contains("\"virtual_time\":true"), "{said}");
        run
    };
    let (first, second) = (watched("first"), watched("second"));
    let timer = first.watched.values().find(|of| of.name == "fault" && of.kind == WatchedKind::Timer);
    assert!(first.threads[&timer.expect("a series").thread].totals.cycles > 10);
    assert_ledgers_add_up(&first);
    assert_eq!(first.threads, second.threads);
    // Maxima follow each other closely at the beginning, and each swaps the buffers.
    for spike in &first.spikes {
        let snapshot = spike.snapshot.as_ref().unwrap_or_else(|| panic!("no trace of {spike:?}"));
        assert!(snapshot.window_covered, "{spike:?}");
    }
}
