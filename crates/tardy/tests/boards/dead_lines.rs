//! Lines that stay down, and lines that fail silently.

use crate::bench::Bench;
use crate::host::{ends, interrupt, until_shown};
use archive::manifest::RunState;
use fixtures::waiting::wait_until;
use std::fs;

/// Notices a dead line after two seconds instead of twenty.
const ATTENTIVE: [&str; 4] = ["--ssh-option", "ServerAliveInterval=1", "--ssh-option", "ServerAliveCountMax=1"];

#[test]
fn a_run_whose_line_is_cut_and_stays_down_is_collected_later_and_nothing_is_lost() {
    let Some(mut bench) = Bench::new() else { return };
    let before = bench.server.listing();
    let mut tardy = bench.measuring("4s");
    bench.server.shut();
    until_shown(&mut tardy, "is lost");
    interrupt(&tardy);
    assert_eq!(tardy.wait().unwrap().code(), Some(3));
    let without = bench.tardy(&["target", "collect", "run"]);
    assert!(without.code == Some(3) && without.stderr.contains("nothing listens"), "{}", without.stderr);
    bench.server.open();
    let collected = bench.tardy(&["target", "collect", "run"]);
    assert_eq!(collected.code, Some(0), "{}", collected.stderr);
    let run = bench.assert_whole();
    assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
    assert!(run.problems.iter().any(|problem| problem.text.contains("fetched later")), "{:?}", run.problems);
    assert_eq!(bench.server.listing(), before);
}

#[test]
fn a_line_that_dies_without_a_word_is_noticed_and_a_new_one_takes_its_place() {
    let Some(bench) = Bench::new() else { return };
    bench.add_with("board", "known_hosts", &ATTENTIVE);
    let before = bench.server.listing();
    let mut tardy = bench.measuring("4s");
    bench.server.freeze();
    until_shown(&mut tardy, "is lost");
    // On the board the old session still holds the lock, and nothing will end it.
    bench.server.thaw();
    assert_eq!(tardy.wait().unwrap().code(), Some(0));
    assert!(bench.assert_whole().problems.iter().any(|problem| problem.text.contains("is back after")));
    wait_until("something is left on the board", || bench.server.listing() == before);
}

#[test]
fn what_a_dead_line_holds_is_collected_from_the_same_host() {
    let Some(bench) = Bench::new() else { return };
    bench.add_with("board", "known_hosts", &ATTENTIVE);
    let before = bench.server.listing();
    let mut tardy = bench.measuring("2s");
    bench.server.freeze();
    until_shown(&mut tardy, "is lost");
    interrupt(&tardy);
    assert_eq!(tardy.wait().unwrap().code(), Some(3));
    bench.server.thaw();
    let other = bench.tardy_elsewhere(&["run", "--target", "board", "-D", "1s", "--out", "second"]);
    assert!(other.code == Some(3) && other.stderr.contains("has used it for"), "{}", other.stderr);
    let collected = bench.tardy(&["target", "collect", "run"]);
    assert_eq!(collected.code, Some(0), "{}", collected.stderr);
    bench.assert_whole();
    wait_until("something is left on the board", || bench.server.listing() == before);
}

#[test]
fn a_run_that_is_killed_while_its_line_is_dead_can_be_collected() {
    let Some(bench) = Bench::new() else { return };
    bench.add_with("board", "known_hosts", &ATTENTIVE);
    let tardy = bench.measuring("2s");
    bench.server.freeze();
    // Twice, so that it does not wait for an answer.
    interrupt(&tardy);
    wait_until("it never asked the meter to stop", || fs::metadata(bench.path("run/stream.tardy")).is_ok());
    interrupt(&tardy);
    let ended = ends(tardy);
    assert!(ended.code == Some(3) && ended.stderr.contains("tardy target collect"), "{}{}", ended.stdout, ended.stderr);
    bench.server.thaw();
    let collected = bench.tardy(&["target", "collect", "run"]);
    assert_eq!(collected.code, Some(0), "{}", collected.stderr);
    bench.assert_whole();
}
