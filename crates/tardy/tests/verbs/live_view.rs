//! The live view of a run on a pseudo-terminal, with a meter that replays saved frames.

use archive::message::{Ending, Message, RunPhase};
use fixtures::fake_meter::{Bench, hello, phase, progress, totals};
use fixtures::pseudo_terminal::{Terminal, lines, resize};
use std::process::Command;

/// Rows of a terminal without its commands: the view fills them with spaces instead of breaking lines.
fn rows(shown: &str, columns: usize) -> Vec<String> {
    let row = |letters: &[char]| letters.iter().collect::<String>().trim_end().to_owned();
    let of_line = |line: String| line.chars().collect::<Vec<_>>().chunks(columns).map(row).collect::<Vec<_>>();
    lines(shown).into_iter().flat_map(of_line).collect()
}

/// A run that shows its totals for a second.
fn bench(between: &str) -> Bench {
    let begun = [hello(), phase(RunPhase::Measure, 1_000), totals(0), progress()];
    let bench = Bench::new().says(&begun).does(between).says(&[progress()]).does("sleep 0.7");
    bench.says(&[
        phase(RunPhase::Collect, 2_000),
        totals(0),
        Message::End { ending: Ending::Complete, monotonic_ns: 3 },
    ])
}

fn run(bench: &Bench, words: &[&str]) -> Command {
    let mut command = bench.tardy(&[&["run", "--duration", "20s"], words].concat());
    command.env("TERM", "xterm").env("LANG", "C.UTF-8").env_remove("LC_ALL").env_remove("NO_COLOR");
    command
}

const HISTOGRAM: &str = "samples by latency";

#[test]
fn a_terminal_shows_the_histogram_as_it_grows_at_every_width() {
    for columns in [50, 80, 180] {
        let bench = bench("sleep 0.7");
        let (_, shown) = Terminal::start(run(&bench, &[]), columns).end();
        let rows = rows(&shown, usize::from(columns));
        // Each starts a row: no row above it was too long.
        for expected in [HISTOGRAM, "  from 131.1 µs █", "  CPU   now"] {
            assert!(rows.iter().any(|row| row.starts_with(expected)), "{columns}: no {expected:?} in {rows:#?}");
        }
        assert!(rows.iter().any(|row| row.contains("of 20.0 s") && row.ends_with("s left")), "{columns}: {rows:#?}");
        // Nothing needs to be restored: no other screen, no hidden cursor.
        assert!(!shown.contains("\x1b[?"), "{shown:?}");
        // The block is removed before the summary: its last lines are cleared.
        let last_block = shown.rfind(HISTOGRAM).unwrap();
        let summary = shown.find("CPU woke up").unwrap();
        assert!(shown[last_block..summary].contains("\x1b[2K"), "{:?}", &shown[last_block..summary]);
    }
}

#[test]
fn lines_instead_of_the_view_where_the_user_or_the_terminal_wants_them() {
    for (words, term) in [(&["--no-live"][..], "xterm"), (&[], "dumb"), (&["--quiet"], "xterm")] {
        let bench = bench("sleep 0.3");
        let mut command = run(&bench, words);
        command.env("TERM", term);
        let (_, shown) = Terminal::start(command, 80).end();
        assert!(!shown.contains(HISTOGRAM), "{words:?} {term}: {shown}");
        assert!(!shown.contains("\x1b[2K"), "{words:?} {term}: {shown:?}");
    }
}

#[test]
fn no_colour_means_a_view_without_colour() {
    for (forbidden, coloured) in [("", true), ("1", false)] {
        let bench = bench("sleep 0.5");
        let mut command = run(&bench, &[]);
        command.env("NO_COLOR", forbidden);
        let (_, shown) = Terminal::start(command, 80).end();
        assert!(shown.contains(HISTOGRAM), "{shown}");
        let colours = shown.split("\x1b[").skip(1).any(|rest| {
            rest.split_once('m').is_some_and(|(codes, _)| codes.bytes().all(|letter| letter.is_ascii_digit()))
        });
        assert_eq!(colours, coloured, "{shown:?}");
    }
}

#[test]
fn a_resized_terminal_is_filled_and_not_overrun() {
    let bench = bench("until [ -e \"$here/resized\" ]; do sleep 0.05; done");
    let terminal = Terminal::start(run(&bench, &[]), 180);
    terminal.wait_for(HISTOGRAM);
    resize(&terminal.keyboard, 50);
    bench.keep("resized", "");
    let (_, shown) = terminal.end();
    let first = rows(&shown, 180);
    assert!(first.iter().any(|row| row.contains("░░  ")), "the wide terminal has the bar of the time: {first:#?}");
    let last = shown.rfind("measure ").unwrap();
    let rows = rows(&shown[last..], 50);
    assert!(rows[0].ends_with("s left") && !rows[0].contains('░'), "{rows:#?}");
}

#[test]
fn a_run_that_was_stopped_before_it_measured_leaves_no_archive() {
    let settling = [hello(), phase(RunPhase::Settle, 1_000)];
    let bench = Bench::new()
        .says(&settling)
        .does("touch \"$here/settling\"; read -r stop")
        .says(&[phase(RunPhase::Collect, 2_000), Message::End { ending: Ending::Stopped, monotonic_ns: 3 }]);
    let terminal = Terminal::start(run(&bench, &[]), 80);
    while !bench.path("settling").exists() {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    rustix::process::kill_process(rustix::process::Pid::from_child(&terminal.program), rustix::process::Signal::INT)
        .unwrap();
    let (_, shown) = terminal.end();
    assert!(shown.contains("stopped on request; nothing was measured"), "{shown}");
    assert_eq!(std::fs::read_dir(bench.path("runs")).unwrap().count(), 0);
}

#[test]
fn ctrl_c_removes_the_view_and_shows_the_result() {
    let begun = [hello(), phase(RunPhase::Measure, 1_000), totals(0), progress()];
    let bench = Bench::new().says(&begun).does("read -r stop").says(&[
        phase(RunPhase::Collect, 2_000),
        totals(0),
        Message::End { ending: Ending::Stopped, monotonic_ns: 3 },
    ]);
    let terminal = Terminal::start(run(&bench, &[]), 80);
    terminal.wait_for(HISTOGRAM);
    rustix::process::kill_process(rustix::process::Pid::from_child(&terminal.program), rustix::process::Signal::INT)
        .unwrap();
    let (_, shown) = terminal.end();
    let (block, summary) = shown.split_at(shown.find("Stopped early").expect(&shown));
    assert!(block.contains(HISTOGRAM) && block.contains("\x1b[2K"), "{block:?}");
    assert!(!summary.contains(HISTOGRAM) && !shown.contains("\x1b[?"), "{summary}");
}
