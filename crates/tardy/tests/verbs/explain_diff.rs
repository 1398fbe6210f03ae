//! `tardy explain --diff` on archives of a fake meter.

use crate::export::archived;
use fixtures::fake_meter::Bench;

/// The archives `here` and `there` of one wake-up each, with its trace.
fn pair() -> Bench {
    let bench = archived(&["blocking-task"]);
    let other = ["run", "--priority", "90", "--load", "cpu:2", "--out", "there"];
    assert_eq!(bench.run(&other).code, Some(0));
    bench
}

#[test]
fn the_causes_of_two_runs_stand_side_by_side_and_nothing_is_claimed_of_one_spike() {
    let bench = pair();
    let ended = bench.run(&["explain", "--diff", "here", "there", "--more"]);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let text = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [
        "the runs differ in priority (80 in A, 90 in B), load (none in A, cpu:2 in B)",
        "how often it strikes cannot be compared",
        "Nothing is counted: ",
        "One run each is not a verdict",
    ] {
        assert!(text.contains(expected), "{expected:?} is not in {}", ended.stdout);
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);
    let document = bench.run(&["explain", "--diff", "here", "there", "--json"]).json();
    assert_eq!(document["causes_version"], 1);
    assert_eq!(document["difference"]["causes"][0]["change"], "not_counted", "{document}");
}

#[test]
fn one_run_twice_and_one_alone_are_wrong_usage() {
    let bench = pair();
    let same = bench.run(&["explain", "--diff", "here", "./here"]);
    assert_eq!(same.code, Some(2));
    assert!(same.stderr.contains("the same run"), "{}", same.stderr);
    assert_eq!(bench.run(&["explain", "--diff", "here"]).code, Some(2));
    assert_eq!(bench.run(&["explain", "here", "--diff", "here", "there"]).code, Some(2));
}
