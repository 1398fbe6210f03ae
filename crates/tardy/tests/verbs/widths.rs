//! The output of every verb on terminals of 50, 80 and 180 columns: no line is wider, except a word that cannot be broken.

use crate::watch::{UNTIL_THE_COMMAND_ENDS, of_series, series};
use archive::message::{Ending, Message, RunPhase};
use archive::watched::WatchedKind;
use fixtures::fake_meter::*;
use fixtures::pseudo_terminal::{Terminal, lines};
use fixtures::repository::repository_path;

const WIDTHS: [u16; 3] = [50, 80, 180];

/// A bench with a watched run of two threads with long names, an imported run, and two runs of another version.
fn desk() -> Bench {
    let names = ["stress-ng-cycli", "pipewire-pulse0"];
    let of =
        |thread: usize, kind| series(thread as u32 * 2 + u32::from(kind == WatchedKind::Cycle), kind, names[thread]);
    let all = (0..2).flat_map(|thread| [of(thread, WatchedKind::Timer), of(thread, WatchedKind::Cycle)]).collect();
    let bench = Bench::new()
        .does("if [ \"$1\" = start ]; then shift; exec \"$@\"; fi")
        .says(&[hello(), phase(RunPhase::Measure, 2_000_000_000)])
        .does(UNTIL_THE_COMMAND_ENDS)
        .says(&[phase(RunPhase::Collect, 4_000_000_000), Message::Watched(all)])
        .says(&[of_series(0, 1), of_series(1, 0), of_series(2, 0), of_series(3, 0)])
        .says(&[phase(RunPhase::Restore, 1), end(Ending::Complete)]);
    let watched = bench.run(&["watch", "--pid", "1", "--duration", "2s", "--limit", "100us", "--out", "watched"]);
    assert_eq!(watched.code, Some(1), "{}", watched.stderr);
    let results = repository_path("corpus/imports/cyclictest-2.10/histogram.json").display().to_string();
    assert_eq!(bench.run(&["import", &results, "--out", "imported"]).code, Some(0));
    for name in ["v1", "again"] {
        let copied = std::process::Command::new("cp")
            .args(["-r".as_ref(), repository_path("corpus/archives/v1").as_os_str(), bench.path(name).as_os_str()])
            .status();
        assert!(copied.unwrap().success());
    }
    bench
}

/// Words of a user, at least once for each verb that prints text and needs no meter, with mistakes.
const COMMANDS: &str = "
    |check --facts FACTS|check --facts FACTS --notices|list loads|list verbs|list loads messaging|list loads stress-ng|target list
    |target show nowhere|target verify nowhere|list|list .|list nowhere|explain v1|explain v1 --events --worst 1
    |explain v1 --bound|explain imported|explain watched|explain nowhere|explain --diff v1 again|report nowhere
    |judge v1|judge v1 --limit latency<100us|judge v1 --limit p99<50us --allow 1/h|judge v1 --horizon 10d
    |judge imported --limit latency<1us --allow never|judge watched --limit latency<100us|judge watched --limit p99<50us
    |compare v1 again|compare v1 imported|lab history .|lab plan new lathe.toml|lab plan check lathe.toml|lab plan show lathe.toml
    |lab plan check nowhere.toml|target collect nowhere|run -i 200|run --nonsense|run -t5|run -p 100|run --target nowhere
    |watch --pid 999999999|watch --pid 1 --duration 2s --limit 100us|audit|experiment bisect nowhere|--help|run --help|judge --help|import RESULTS --out second";

/// The lines of a command on a terminal.
fn shown(bench: &Bench, words: &[&str], columns: u16) -> Vec<String> {
    let mut command = bench.tardy(words);
    command.env("TERM", "xterm").env("LANG", "C.UTF-8").env("XDG_CONFIG_HOME", bench.path("config"));
    lines(&Terminal::start(command, columns).end().1)
}

#[test]
fn every_help_fits_the_terminal() {
    let bench = Bench::new();
    let listed = bench.run(&["list", "verbs", "--json"]).json();
    let typed = listed["verbs"].as_array().unwrap().iter().map(|verb| verb["name"].as_str().unwrap());
    // The meter prints the help of `cyclictest`.
    let verbs: Vec<&str> =
        typed.filter(|verb| *verb != "cyclictest").chain(["", "lab", "lab store", "virtual"]).collect();
    assert!(verbs.contains(&"target add"), "{verbs:?}");
    let mut wide = Vec::new();
    for verb in &verbs {
        let words: Vec<&str> = verb.split_whitespace().chain(["--help"]).collect();
        for columns in WIDTHS {
            let help = shown(&bench, &words, columns);
            assert!(help.iter().any(|line| line.starts_with("Usage: tardy")), "{words:?}: {help:?}");
            let is_wide = |line: &&String| line.chars().count() > usize::from(columns);
            wide.extend(help.iter().find(is_wide).map(|line| format!("{words:?}, {columns} columns: {line:?}")));
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}

#[test]
fn no_verb_writes_lines_that_are_wider_than_the_terminal() {
    let desk = desk();
    let results = repository_path("corpus/imports/cyclictest-2.10/histogram.json").display().to_string();
    let facts = repository_path("corpus/readiness/ordinary.json").display().to_string();
    let mut wide = Vec::new();
    for typed in COMMANDS.split('|').map(str::trim) {
        let place = |word| match word {
            "RESULTS" => results.as_str(),
            "FACTS" => facts.as_str(),
            word => word,
        };
        let words: Vec<&str> = typed.split_whitespace().map(place).collect();
        for columns in WIDTHS {
            let _ = std::fs::remove_dir_all(desk.path("second"));
            let mut command = desk.tardy(&words);
            command.env("TERM", "xterm").env("LANG", "C.UTF-8").env("XDG_CONFIG_HOME", desk.path("config"));
            let (_, shown) = Terminal::start(command, columns).end();
            let words_of = |line: &str| line.split_whitespace().count();
            let found = lines(&shown)
                .into_iter()
                .find(|line| line.chars().count() > usize::from(columns) && words_of(line) > 1);
            wide.extend(found.map(|line| format!("tardy {typed}, {columns} columns: {line:?}")));
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}
