//! The short answers: at most twelve lines of 80 columns from every archive of the corpus, and no sentence twice on a screen or a
//! page.

use fixtures::fake_meter::*;
use fixtures::pseudo_terminal::{Terminal, lines};
use fixtures::repository::repository_path;
use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;

const LINES: usize = 12;
/// Shorter repetitions are labels and units.
const SENTENCE_LETTERS: usize = 45;

/// The archives, from the directory of the corpus.
fn archives() -> Vec<PathBuf> {
    let corpus = repository_path("corpus");
    let entries = ["archives", "gallery"].into_iter().flat_map(|folder| fs::read_dir(corpus.join(folder)).unwrap());
    let paths = entries.map(|entry| entry.unwrap().path()).filter(|path| path.join("manifest.json").exists());
    paths.map(|path| path.strip_prefix(&corpus).unwrap().to_owned()).collect()
}

/// Sentences that stand on a screen more than once.
fn repeated(text: &str) -> Vec<String> {
    let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut seen = BTreeSet::new();
    let sentences =
        flowing.split(['.', ';', ':']).map(str::trim).filter(|words| words.chars().count() >= SENTENCE_LETTERS);
    sentences.filter(|sentence| !seen.insert(*sentence)).map(str::to_owned).collect()
}

#[test]
fn every_answer_fits_twelve_lines_and_says_nothing_twice() {
    let bench = Bench::new();
    let archives = archives();
    assert!(archives.len() >= 10, "{archives:?}");
    let mut offences = Vec::new();
    for archive in &archives {
        let path = archive.to_str().unwrap();
        let other = archives[0].to_str().unwrap();
        let commands = [
            vec!["explain", path],
            vec!["judge", path],
            vec!["judge", path, "--limit", "latency < 100us", "--limit", "p99 < 50us"],
            vec!["compare", path, path],
            vec!["compare", path, other],
            vec!["lab", "history", path],
        ];
        for words in commands {
            for columns in [80, 120] {
                let mut command = bench.tardy(&words);
                command.env("TERM", "xterm").env("LANG", "C.UTF-8").current_dir(repository_path("corpus"));
                let shown = lines(&Terminal::start(command, columns).end().1);
                if shown.len() > LINES {
                    offences.push(format!("{words:?}: {} lines on {columns} columns", shown.len()));
                }
                let twice = repeated(&shown.join("\n"));
                offences.extend(twice.into_iter().map(|sentence| format!("{words:?}: twice: {sentence}")));
            }
        }
    }
    assert!(offences.is_empty(), "{}", offences.join("\n"));
}

#[test]
fn a_repetition_is_found_across_lines() {
    let sentence = "the timer interrupt was late while the\nworker of the tokio runtime ran";
    assert_eq!(repeated(&format!("{sentence}. And: {sentence}.")).len(), 1);
    assert!(repeated("CPU 0: 1 µs; CPU 1: 1 µs").is_empty());
}
