//! Runs over ssh: whole, cut, left behind, held by another.

use crate::bench::Bench;
use archive::manifest::RunState;
use std::fs;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn a_cut_line_loses_nothing_and_the_board_is_as_it_was() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.server.listing();
    let tardy = bench.measuring("3s");
    assert_ne!(bench.server.listing(), before, "it measures there, not here");
    bench.server.cut();
    let output = tardy.wait_with_output().unwrap();
    let complained = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{complained}");
    assert!(complained.contains("is lost") && complained.contains("is back"), "{complained}");
    let run = bench.assert_whole();
    assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
    assert!(run.problems.iter().any(|problem| problem.text.contains("is back after")), "{:?}", run.problems);
    assert_eq!(bench.server.listing(), before);
}

#[test]
fn a_run_outlives_its_host_and_is_collected_later() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.server.listing();
    let mut tardy = bench.measuring("3s");
    let other = bench.tardy_elsewhere(&["run", "--target", "board", "-D", "1s"]);
    assert_eq!(other.code, 3);
    assert!(other.complained.contains("has used it for"), "{}", other.complained);
    let same = bench.tardy(&["run", "--target", "board", "-D", "1s"]);
    assert!(same.complained.contains(&format!("process {} of this host", tardy.id())), "{}", same.complained);
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    // The keeper has let go, and the run goes on.
    let begun = Instant::now();
    while bench.server.folder.join("board/tmp/tardy-board/lock").is_symlink() {
        assert!(begun.elapsed() < Duration::from_secs(20));
        thread::sleep(Duration::from_millis(50));
    }
    let refused = bench.tardy(&["run", "--target", "board", "-D", "1s", "--out", "second"]);
    assert!(refused.code == 3 && refused.complained.contains("tardy collect"), "{}", refused.complained);
    let collected = bench.tardy(&["collect", "run"]);
    assert_eq!(collected.code, 0, "{}", collected.complained);
    let run = bench.assert_whole();
    assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
    assert!(run.problems.iter().any(|problem| problem.text.contains("fetched later")), "{:?}", run.problems);
    assert_eq!(bench.server.listing(), before);
    let again = bench.tardy(&["collect", "run"]);
    assert!(again.code == 2 && again.complained.contains("no rest to fetch"), "{}", again.complained);
}

#[test]
fn results_nobody_wants_can_be_thrown_away() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.server.listing();
    let mut tardy = bench.measuring("100s");
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    // The meter is ended with them.
    let discarded = bench.tardy(&["restore", "--target", "board", "--discard"]);
    assert_eq!(discarded.code, 0, "{}", discarded.complained);
    assert_eq!(bench.server.listing(), before);
    let verified = bench.tardy(&["target", "verify", "board"]);
    assert!(verified.code == 0 && verified.said.contains("tardy-meter"), "{}", verified.complained);
}

#[test]
fn a_board_whose_key_is_not_known_is_refused_with_the_mend() {
    let Some(bench) = Bench::new() else { return };
    fs::write(bench.path("nobody"), "").unwrap();
    bench.add("stranger", "nobody");
    let refused = bench.tardy(&["run", "--target", "stranger", "-D", "1s"]);
    assert!(refused.code == 3 && refused.complained.contains("fingerprint"), "{}", refused.complained);
    // What is in the way is named.
    fs::write(bench.path("board/tmp/tardy-board"), "").unwrap();
    let refused = bench.tardy(&["run", "--target", "board", "-D", "1s"]);
    assert!(refused.code == 3 && refused.complained.contains("is not ours"), "{}", refused.complained);
}
