//! Boards with little space or missing permissions.

use crate::bench::Bench;
use archive::message::Severity;
use fixtures::waiting::wait_until;
use std::fs;

const SHORT: [&str; 8] = ["run", "--target", "board", "-D", "300ms", "--trace", "off", "--quiet"];

#[test]
fn places_where_no_program_runs_or_fits_are_passed_over_and_named() {
    let Some(bench) = Bench::new() else { return };
    bench.server.mount("tmp", "noexec");
    let ended = bench.tardy(&SHORT);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!bench.path("board/var/tmp/tardy-board").exists(), "the next place is left as it was");
    bench.server.mount("var/tmp", "size=2m");
    bench.server.mount("dev/shm", "ro");
    bench.server.mount("root", "noexec");
    let refused = bench.tardy(&SHORT);
    assert_eq!(refused.code, Some(3));
    for why in [
        "/tmp (mounted noexec?)",
        "/var/tmp has only 2048 of 4096 kB free",
        "/dev/shm/tardy-board cannot be made",
        "/root",
    ] {
        assert!(refused.stderr.contains(why), "{why}: {}", refused.stderr);
    }
    assert!(refused.stderr.contains("--directory"), "{}", refused.stderr);
}

#[test]
fn a_board_without_room_keeps_the_totals_and_says_what_is_missing() {
    let Some(bench) = Bench::new() else { return };
    let meter_mb = fs::metadata(bench.meter(&[]).get_program()).unwrap().len() >> 20;
    bench.server.mount("tmp", &format!("size={}m", meter_mb + 6));
    let mut tardy = bench.measuring("12s");
    tardy.kill().unwrap();
    tardy.wait().unwrap();
    bench.server.fill("tmp");
    wait_until("the keeper never let go", || {
        let collected = bench.tardy(&["target", "collect", "run", "--quiet"]);
        assert!(collected.code != Some(1) && collected.code != Some(2), "{}", collected.stderr);
        collected.code == Some(0) || !collected.stderr.contains("has used it for")
    });
    let run = archive::reader::Run::open(bench.path("run")).unwrap();
    assert!(!run.threads.is_empty());
    for (number, thread) in &run.threads {
        let bytes = fs::metadata(bench.path(&format!("run/samples/{number}.bin"))).unwrap().len();
        assert!(bytes < thread.totals.cycles * 16, "thread {number}: the totals are those of all wake-ups");
    }
    let reported = |problem: &archive::message::Problem| {
        problem.severity == Severity::Degraded && problem.code == "meter.spool-full"
    };
    assert!(run.problems.iter().any(reported), "{:?}", run.problems);
    assert!(!run.losses.is_empty() || !run.gaps.is_empty(), "what is missing is counted");
}

#[test]
fn an_ordinary_user_becomes_root_by_sudo_and_says_when_that_fails() {
    let Some(mut bench) = Bench::new() else { return };
    let before = |bench: &Bench| fs::read_dir(bench.path("board/tmp")).unwrap().count();
    bench.server.log_in_as_user(":");
    let without = bench.tardy(&[&SHORT[..], &["--degrade"]].concat());
    assert_eq!(without.code, Some(0), "{}", without.stderr);
    assert!(without.stderr.contains("is not root"), "{}", without.stderr);
    bench.add_with("board", "known_hosts", &["--sudo"]);
    let ended = bench.tardy(&SHORT);
    assert_eq!(ended.code, Some(0), "{}", ended.stderr);
    assert!(!ended.stderr.contains("is not root"), "{}", ended.stderr);
    assert_eq!(before(&bench), 0, "nothing is left");
    bench.server.log_in_as_user("echo 'sudo: a password is required' >&2; exit 1");
    let refused = bench.tardy(&SHORT);
    assert!(refused.code == Some(3) && refused.stderr.contains("NOPASSWD"), "{}", refused.stderr);
}
