//! `tardy audit` on archives that hold no audit.

use archive::message::{Ending, RunPhase};
use fixtures::fake_meter::*;

#[test]
fn an_archive_without_an_audit_is_refused_with_the_fix() {
    let bench = Bench::new().says(&[
        hello(),
        phase(RunPhase::Measure, 2_000_000_000),
        phase(RunPhase::Collect, 4_000_000_000),
        totals(0),
        end(Ending::Complete),
    ]);
    assert_eq!(bench.run(&["run", "--out", "here"]).code, Some(0));
    let ended = bench.run(&["audit", "--archive", "here", "--json"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    assert!(ended.stderr.contains("`tardy audit` makes one"), "{}", ended.stderr);
}

#[test]
fn a_recording_that_breaks_off_is_reported_with_its_reason() {
    let bench = Bench::new().says(&[hello(), phase(RunPhase::Measure, 2_000_000_000)]);
    let ended = bench.run(&["audit", "--pid", "1", "-D", "1s", "--out", "here"]);
    assert_eq!(ended.code, Some(3), "{}", ended.stderr);
    // The recording is named, and no other archive is asked for.
    assert!(ended.stderr.contains(" here") && !ended.stderr.contains("`tardy audit`"), "{}", ended.stderr);
}

#[test]
fn rules_that_do_not_exist_are_refused_with_those_that_do() {
    let ended = Bench::new().run(&["audit", "--deny", "haste", "--pid", "1"]);
    assert_eq!(ended.code, Some(2));
    assert!(ended.stderr.contains("sched-yield"), "{}", ended.stderr);
}
