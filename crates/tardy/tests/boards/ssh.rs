//! Runs over ssh: complete, cut, left behind, locked by another host.

use crate::bench::Bench;
use archive::manifest::RunState;
use fixtures::waiting::wait_until;
use std::fs;

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
fn a_stimulus_board_is_not_resumed_and_the_collected_run_says_so() {
    let Some(bench) = Bench::new() else { return };
    let mut tardy = bench.measuring("10s");
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    // No GPIO line is needed for what the host does without its board.
    let path = bench.path("run/manifest.json");
    let mut manifest: serde_json::Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    let stimulus = archive::stimulus::StimulusRequest::parse("latmon:192.0.2.7").unwrap();
    manifest["settings"]["stimulus"] = serde_json::to_value(&stimulus).unwrap();
    fs::write(&path, manifest.to_string()).unwrap();
    let collected = bench.tardy(&["target", "collect", "run"]);
    assert_eq!(collected.code, Some(0), "{}", collected.stderr);
    let run = bench.assert_whole();
    let said: Vec<_> = run.problems.iter().filter(|problem| problem.code.as_str() == "stimulus.not-resumed").collect();
    assert!(said.len() == 1 && said[0].text.contains("0 answers"), "{:?}", run.problems);
}

#[test]
fn a_run_outlives_its_host_and_is_collected_later() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.server.listing();
    let mut tardy = bench.measuring("10s");
    let other = bench.tardy_elsewhere(&["run", "--target", "board", "-D", "1s"]);
    assert_eq!(other.code, Some(3));
    assert!(other.stderr.contains("has used it for"), "{}", other.stderr);
    let same = bench.tardy(&["run", "--target", "board", "-D", "1s"]);
    assert!(same.stderr.contains(&format!("process {} of this host", tardy.id())), "{}", same.stderr);
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    // The keeper has released the lock, and the run continues.
    let lock = bench.server.folder.join("board/tmp/tardy-board/lock");
    wait_until("the keeper never let go", || !lock.is_symlink());
    let refused = bench.tardy(&["run", "--target", "board", "-D", "1s", "--out", "second"]);
    assert!(refused.code == Some(3) && refused.stderr.contains("tardy target collect"), "{}", refused.stderr);
    let collected = bench.tardy(&["target", "collect", "run"]);
    assert_eq!(collected.code, Some(0), "{}", collected.stderr);
    let run = bench.assert_whole();
    assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
    assert!(run.problems.iter().any(|problem| problem.text.contains("fetched later")), "{:?}", run.problems);
    assert_eq!(bench.server.listing(), before);
    let again = bench.tardy(&["target", "collect", "run"]);
    assert!(again.code == Some(2) && again.stderr.contains("nothing left to fetch"), "{}", again.stderr);
}

#[test]
fn results_nobody_wants_can_be_thrown_away() {
    let Some(bench) = Bench::new() else { return };
    let before = bench.server.listing();
    let mut tardy = bench.measuring("100s");
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    // This ends the meter, too.
    let discarded = bench.tardy(&["target", "restore", "board", "--discard"]);
    assert_eq!(discarded.code, Some(0), "{}", discarded.stderr);
    assert_eq!(bench.server.listing(), before);
    let verified = bench.tardy(&["target", "verify", "board"]);
    assert!(verified.code == Some(0) && verified.stdout.contains("tardy-meter"), "{}", verified.stderr);
}

#[test]
fn new_software_is_deployed_before_the_run_and_what_it_said_is_kept() {
    let Some(bench) = Bench::new() else { return };
    let run = ["run", "--target", "board", "-D", "500ms", "--trace", "off", "--out", "run", "--deploy", "new.wic"];
    let refused = bench.tardy(&run);
    assert!(refused.code == Some(3) && refused.stderr.contains("[deploy]"), "{}", refused.stderr);
    let file = bench.path("configuration/tardy/targets/board.toml");
    let board = fs::read_to_string(&file).unwrap();
    let deploy = |command: &str| {
        let hooks = format!("[power]\non = \"echo power is on\"\n[deploy]\nreboots = false\ncommand = '{command}'\n");
        fs::write(&file, format!("{board}\n{hooks}")).unwrap();
    };
    deploy("echo card full; exit 3");
    let failed = bench.tardy(&run);
    assert!(failed.code == Some(3) && failed.stderr.contains("card full"), "{}", failed.stderr);
    deploy("echo $TARDY_IMAGE goes to $TARDY_ADDRESS");
    let ended = bench.tardy(&run);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    let notes = fs::read_to_string(bench.path("run/console.log")).unwrap();
    assert!(notes.contains("power is on") && notes.contains("new.wic goes to root@127.0.0.1"), "{notes}");
}

#[test]
fn a_board_whose_key_is_not_known_is_refused_with_the_fix() {
    let Some(bench) = Bench::new() else { return };
    fs::write(bench.path("nobody"), "").unwrap();
    bench.add("stranger", "nobody");
    let refused = bench.tardy(&["run", "--target", "stranger", "-D", "1s"]);
    assert!(refused.code == Some(3) && refused.stderr.contains("fingerprint"), "{}", refused.stderr);
    // The error names the file in the way.
    fs::write(bench.path("board/tmp/tardy-board"), "").unwrap();
    let refused = bench.tardy(&["run", "--target", "board", "-D", "1s"]);
    assert!(refused.code == Some(3) && refused.stderr.contains("is not ours"), "{}", refused.stderr);
}
