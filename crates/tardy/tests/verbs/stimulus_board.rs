//! `tardy run --stimulus`: a board that speaks latmon gives the stimuli, a fake meter answers.

use archive::message::{Ending, RunPhase};
use fixtures::fake_meter::*;
use fixtures::waiting::wait_until;
use std::fs;
use std::process::Command;
use std::time::Duration;
use stimulus_board::{Board, Conduct};

/// A meter that measures for as long as the shell command takes.
fn measuring_while(command: &str, ending: Ending) -> Bench {
    let measuring = Bench::new().says(&[hello(), phase(RunPhase::Prepare, 1), phase(RunPhase::Measure, 2_000_000_000)]);
    measuring.does(command).says(&[phase(RunPhase::Collect, 7_000_000_000), totals(0), end(ending)])
}

/// Answers of 30 and 40 us in turn, the 15th of 2 ms.
fn answering() -> impl FnMut() -> Option<Duration> + Send {
    let mut count = 0;
    move || {
        count += 1;
        Some(Duration::from_micros(if count == 15 { 2000 } else { 30 + 10 * (count % 2) }))
    }
}

fn words<'a>(stimulus: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words =
        ["run", "--method", "gpio:in=0,out=1", "-i", "100ms", "-D", "5s", "--out", "here", "--stimulus", stimulus];
    words.iter().chain(more).copied().collect()
}

#[test]
fn what_the_board_measured_is_shown_beside_what_the_target_did() {
    let board = Board::start(answering(), Conduct::Proper).unwrap();
    let bench = measuring_while("sleep 4", Ending::Complete);
    let request = board.request();
    let ended = bench.run(&words(&request, &["--more"]));
    assert_eq!(ended.code, Some(0), "{}{}", ended.stdout, ended.stderr);
    let seen = board.seen().unwrap();
    assert!(seen.ended && seen.answers >= 10, "{seen:?}");
    assert_eq!((seen.period_us, seen.cells), (100_000, 1000));
    let address = request.strip_prefix("latmon:").unwrap();
    let shown = ended.stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    let whose = format!("latmon at {address}, by the board's own clock");
    let row = format!("{} 0 30.0", seen.answers);
    for expected in ["Measured by the stimulus board", &whose, &row, "the target's own, by the target's clock"] {
        assert!(shown.contains(expected), "{expected:?} is not in {shown}");
    }
    assert!(ended.stdout.lines().all(|line| line.chars().count() <= 80), "{}", ended.stdout);

    let settings: serde_json::Value = serde_json::from_slice(&fs::read(bench.path("settings.json")).unwrap()).unwrap();
    assert_eq!(settings["method"]["options"]["edge"], "falling", "the edges of latmon");
    assert_eq!(manifest_of(&bench.path("here"))["settings"]["stimulus"]["address"], address);

    let reported = bench.run(&["report", "here", "--out", "report.html"]);
    assert_eq!(reported.code, Some(0), "{}", reported.stderr);
    let page = fs::read_to_string(bench.path("report.html")).unwrap();
    assert!(page.contains("id=\"stimulus-board\"") && page.contains("<svg"));
    let run = archive::reader::Run::open(bench.path("here")).unwrap();
    let kept = run.stimulus_board.unwrap();
    assert_eq!((kept.answers, kept.overruns, kept.latency_ns_sum), (seen.answers, 0, seen.sum_ns));
    assert!(kept.complete && kept.latency_ns_max == Some(u64::from(seen.max_ns)));
    // The answers of the first second are in the histogram alone.
    assert_eq!(kept.cells.iter().map(|count| u64::from(*count)).sum::<u64>(), seen.answers + 10);
    assert_eq!(kept.cells.last(), Some(&1), "2 ms is beyond the last cell");
}

#[test]
fn json_has_the_figures_of_the_board() {
    let board = Board::start(answering(), Conduct::Proper).unwrap();
    let ended = measuring_while("sleep 4", Ending::Complete).run(&words(&board.request(), &["--json"]));
    let document = &ended.json()["stimulus_board"];
    assert_eq!(document["answers"], board.seen().unwrap().answers);
    assert_eq!((&document["latency_ns"]["max"], &document["latency_ns"]["min"]), (&2_000_000.into(), &30_000.into()));
    let median = document["latency_ns"]["p50"].as_i64().unwrap();
    assert!([31_000, 41_000].contains(&median), "{median}: the upper edge of a cell");
    assert_eq!((&document["protocol"], &document["complete"]), (&"latmon".into(), &true.into()));
}

#[test]
fn without_a_board_the_target_is_left_alone() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let bench = measuring_while("true", Ending::Complete);
    let request = format!("latmon:{free}");
    let ended = bench.run(&words(&request, &["--json"]));
    ended.assert_problem(3, "stimulus.no-board");
    let said = ended.stderr;
    assert!(said.contains(&free.to_string()), "{said}");
    assert!(said.contains("`Waiting for Latmus`"), "it says what to check: {said}");
    assert!(!bench.path("settings.json").exists(), "no meter was started");
    assert!(!bench.path("here").exists(), "and no archive is left");
    let document = bench.run(&words(&request, &["--json"]));
    assert_eq!(document.code, Some(3));
    assert!(document.stdout.contains("stimulus.no-board"), "{}{}", document.stdout, document.stderr);
}

/// The code of the run's problem with its board, how the run ended, and the answers that the archive has.
fn problem_with(board: Board) -> (String, Option<i32>, u64) {
    let bench = measuring_while("sleep 4", Ending::Complete);
    let ended = bench.run(&words(&board.request(), &[]));
    board.seen().unwrap();
    let run = archive::reader::Run::open(bench.path("here")).unwrap();
    let codes: Vec<&str> = run.problems.iter().map(|problem| problem.code.as_str()).collect();
    let [code] = codes[..] else { panic!("{codes:?}") };
    assert!(ended.stdout.contains("But:    "), "{}", ended.stdout);
    (code.into(), ended.code, run.stimulus_board.map_or(0, |board| board.answers))
}

#[test]
fn a_cut_wire_is_no_signal() {
    let board = Board::start(|| None, Conduct::Proper).unwrap();
    let bench = measuring_while("sleep 4", Ending::Complete);
    let ended = bench.run(&words(&board.request(), &[]));
    board.seen().unwrap();
    assert_eq!(ended.code, Some(3), "{}", ended.stdout);
    assert!(ended.stdout.contains("no signal"), "{}", ended.stdout);
    let run = archive::reader::Run::open(bench.path("here")).unwrap();
    assert!(run.problems.iter().any(|problem| problem.code.as_str() == "stimulus.no-signal"), "{:?}", run.problems);
    let unanswered = run.losses.iter().filter(|loss| loss.kind == archive::loss::LossKind::Answers);
    assert!(unanswered.map(|loss| loss.count).sum::<u64>() > 0, "{:?}", run.losses);
}

#[test]
fn a_board_that_is_lost_leaves_its_answers() {
    let problem = problem_with(Board::start(answering(), Conduct::Cut { records: 1 }).unwrap());
    assert_eq!(problem, ("stimulus.cut".into(), Some(0), 10));
}

#[test]
fn another_service_is_no_board() {
    let problem = problem_with(Board::start(|| None, Conduct::Other).unwrap());
    assert_eq!(problem, ("stimulus.wrong-answer".into(), Some(0), 0));
}

#[test]
fn a_request_to_stop_ends_the_board_before_the_target() {
    let board = Board::start(answering(), Conduct::Proper).unwrap();
    let bench = measuring_while("read -r asked", Ending::Stopped);
    let request = board.request();
    let mut words = words(&request, &[]);
    let duration = words.iter().position(|word| *word == "5s").unwrap();
    words[duration] = "10m";
    let mut child = bench.tardy(&words).spawn().unwrap();
    wait_until("the board sends a record", || board.answers() >= 10);
    let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    child.wait().unwrap();
    assert!(board.seen().unwrap().ended);
    let kept = archive::reader::Run::open(bench.path("here")).unwrap().stimulus_board.unwrap();
    assert!(kept.complete && kept.answers >= 10, "{kept:?}");
}
