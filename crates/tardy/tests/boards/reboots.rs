//! Boards that go down during a measurement, and results that are never fetched.

use crate::bench::Bench;
use crate::host::ends;
use archive::manifest::RunState;
use archive::settings::{RunSettings, SnapshotMode, TraceSettings};
use fixtures::waiting::wait_until;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

#[test]
fn a_board_that_forgets_all_at_a_reboot_ends_the_run_with_what_had_come() {
    let Some(mut bench) = Bench::new() else { return };
    let tardy = bench.measuring("100s");
    bench.server.reboot(true);
    let ended = ends(tardy);
    assert_eq!(ended.code, Some(3));
    assert!(ended.stderr.contains("lost in a reboot"), "{}", ended.stderr);
    assert!(!ended.stderr.contains("tardy target restore"), "there is nothing to put back: {}", ended.stderr);
    let run = archive::reader::Run::open(bench.path("run")).unwrap();
    assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Failed);
    assert!(!run.threads.is_empty() || fs::metadata(bench.path("run/samples/0.partial")).is_ok(), "what came is kept");
    assert!(!bench.path("run/line.partial").exists(), "nothing is left to fetch");
    assert!(!bench.path("board/tmp/tardy-board").exists());
}

#[test]
fn a_run_that_a_reboot_took_cannot_be_collected_and_one_on_a_disk_can() {
    let Some(mut bench) = Bench::new() else { return };
    let before = bench.server.listing();
    for forgets in [true, false] {
        let mut tardy = bench.measuring("100s");
        tardy.kill().unwrap();
        tardy.wait().unwrap();
        let listed = bench.tardy(&["list", "."]).stdout;
        assert!(listed.contains("cut off") && listed.contains("to be collected"), "{listed}");
        bench.server.reboot(forgets);
        let collected = bench.tardy(&["target", "collect", "run"]);
        assert_eq!(collected.code, Some(3), "{}", collected.stderr);
        let why = if forgets { "lost in a reboot" } else { "the machine went down" };
        assert!(collected.stderr.contains(why), "{}{}", collected.stdout, collected.stderr);
        assert_eq!(bench.server.listing(), before);
        // The archive does not wait for ever for data that will not arrive.
        let manifest = archive::reader::Run::open(bench.path("run")).unwrap().manifest.unwrap();
        assert_eq!(manifest.state, RunState::Failed);
        assert!(manifest.problem.unwrap().text.contains(if forgets { "has no data for the rest" } else { why }));
        let again = bench.tardy(&["target", "collect", "run"]);
        assert!(again.code == Some(2) && again.stderr.contains("the archive is complete"), "{}", again.stderr);
        let next =
            bench.tardy(&["run", "--target", "board", "-D", "300ms", "--trace", "off", "--quiet", "--out", "next"]);
        assert_eq!(next.code, Some(0), "the board is free again: {}", next.stderr);
        for archive in ["run", "next"] {
            fs::remove_dir_all(bench.path(archive)).unwrap();
        }
    }
}

#[test]
fn results_nobody_comes_for_are_thrown_away_after_their_time() {
    let Some(bench) = Bench::new() else { return };
    let place = bench.path("kept");
    fs::create_dir(&place).unwrap();
    let settings = RunSettings {
        duration_ns: Some(200_000_000),
        settle_ns: 0,
        degrade: true,
        trace: TraceSettings { mode: SnapshotMode::Off, ..TraceSettings::default() },
        ..RunSettings::default()
    };
    let mut command = bench.meter(&["spool", "start", ".", "r1", "0", "1", "60"]);
    command.current_dir(&place).env("TARDY_STATE_DIR", &place).stdin(Stdio::piped()).stdout(Stdio::null());
    let mut started = command.spawn().unwrap();
    let line = serde_json::to_string(&settings).unwrap() + "\n";
    started.stdin.take().unwrap().write_all(line.as_bytes()).unwrap();
    assert!(started.wait().unwrap().success());
    let spool = place.join("spool");
    assert!(spool.join("run").is_file(), "they are kept for now");
    wait_until("they are kept for ever", || !Path::new(&place).exists());
}
