//! Tests assert facts: codes, fields, exit codes, numbers. A test that searches English prose breaks with each better sentence,
//! and so keeps the worse one. Prose is asserted where words are the subject, which are these places, and in goldens
//! (`fixtures::assert_sentence!`). The remaining ones are counted: `cargo test -p tardy --test architecture prose -- --nocapture`
//! prints them by crate.

use crate::repository::{assert_none, files_ending, text};
use fixtures::golden::sections;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};
use std::collections::BTreeMap;

/// Assertions on prose outside of [`PLACES`]. The number may only fall.
const MOST: usize = 93;

/// Folders and files whose subject is words, and why.
const PLACES: [(&str, &str); 3] = [
    ("crates/core/words/", "the words of every verb and page"),
    ("crates/tardy/tests/architecture/", "the grammar of texts, and the documents' own sentences"),
    ("crates/tardy/tests/first_hour/", "what a new user reads in the first hour"),
];

/// Calls that search a text.
const SEARCHES: [&str; 12] = [
    "contains",
    "ends_with",
    "eq",
    "find",
    "match_indices",
    "matches",
    "rfind",
    "split_once",
    "starts_with",
    "strip_prefix",
    "strip_suffix",
    "trim_start_matches",
];

/// Calls around an expected text that do not read it.
const WRAPPERS: [&str; 8] = ["Err", "Ok", "Some", "from", "format", "json", "vec", "concat"];

/// Words of prose in a row, and their letters.
const WORDS_LEAST: usize = 3;
const LETTERS_LEAST: usize = 12;

/// Whether a text has prose: words of letters, separated by single blanks. Code in backticks, commands of `tardy`, names in
/// capitals, numbers and placeholders are not words of prose.
pub fn is_prose(text: &str) -> bool {
    let spoken = text.split('`').step_by(2);
    spoken.into_iter().any(|part| {
        let (mut words, mut letters) = (0, 0);
        // A command ends the prose.
        part.split(' ').take_while(|word| word.trim_start_matches('\'') != "tardy").any(|word| {
            let is_option = word.starts_with('-');
            let word = word.trim_matches(|letter: char| letter.is_ascii_punctuation() && !"{}".contains(letter));
            let in_capitals = word.len() > 1 && word.chars().all(char::is_uppercase);
            let is_word = !word.is_empty()
                && !is_option
                && !in_capitals
                && word.chars().all(|letter| letter.is_alphabetic() || "-'".contains(letter));
            (words, letters) = if is_word { (words + 1, letters + word.chars().count()) } else { (0, 0) };
            words >= WORDS_LEAST && letters >= LETTERS_LEAST
        })
    })
}

/// Where a token stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Not in an assertion, or an argument of another call in it.
    Elsewhere,
    /// A text that an assertion compares or a call searches for.
    Compared,
}

/// The tests in a source, with the number of lines before them.
pub fn tests_in<'a>(name: &str, source: &'a str) -> (usize, &'a str) {
    if name.contains("/tests/") || name.ends_with("/tests.rs") {
        return (0, source);
    }
    let begin = source.find("#[cfg(test)]\nmod tests {").unwrap_or(source.len());
    (source[..begin].lines().count(), &source[begin..])
}

/// The asserted prose of some tests, each with its line.
fn asserted(tests: &str) -> Vec<(usize, String)> {
    let tokens: TokenStream = tests.parse().expect("a source is Rust");
    let mut found = Vec::new();
    walk(tokens, Place::Elsewhere, &mut found);
    found
}

fn walk(tokens: TokenStream, place: Place, found: &mut Vec<(usize, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut called = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(name) => called = Some(name.to_string()),
            TokenTree::Punct(mark) if "!:<>".contains(mark.as_char()) => {}
            TokenTree::Punct(_) => called = None,
            TokenTree::Group(group) if ends_in(&tokens[..at], "#") || ends_in(&tokens[..at], "#!") => {
                debug_assert_eq!(group.delimiter(), Delimiter::Bracket, "an attribute");
            }
            TokenTree::Group(group) => {
                let is_macro = ends_in(&tokens[..at], "!");
                let called = called.take().filter(|_| is_macro || group.delimiter() == Delimiter::Parenthesis);
                match called.as_deref() {
                    Some("assert" | "assert_eq" | "assert_ne") if is_macro => {
                        let compared = if called.as_deref() == Some("assert") { 1 } else { 2 };
                        arguments(group).into_iter().take(compared).for_each(|part| walk(part, Place::Compared, found));
                    }
                    Some("assert_none" | "assert_same" | "assert_sentence") => {}
                    Some(call) if SEARCHES.contains(&call) || call.starts_with("assert_") => {
                        walk(group.stream(), Place::Compared, found);
                    }
                    Some(call) if WRAPPERS.contains(&call) || call.starts_with(char::is_uppercase) => {
                        walk(group.stream(), place, found);
                    }
                    Some(_) => walk(group.stream(), Place::Elsewhere, found),
                    None => walk(group.stream(), place, found),
                }
            }
            TokenTree::Literal(literal) => {
                let rest = &tokens[at + 1..];
                let beside_equals =
                    ["==", "!="].iter().any(|sign| ends_in(&tokens[..at], sign) || begins_with(rest, sign));
                let text = content(&literal.to_string()).filter(|text| is_prose(text));
                if let Some(text) = text.filter(|_| beside_equals || place == Place::Compared) {
                    found.push((literal.span().start().line, text));
                }
            }
        }
    }
}

fn ends_in(tokens: &[TokenTree], marks: &str) -> bool {
    tokens.len() >= marks.len() && begins_with(&tokens[tokens.len() - marks.len()..], marks)
}

fn begins_with(tokens: &[TokenTree], marks: &str) -> bool {
    let is = |(token, mark): (&TokenTree, char)| matches!(token, TokenTree::Punct(punct) if punct.as_char() == mark);
    tokens.len() >= marks.len() && tokens.iter().zip(marks.chars()).all(is)
}

/// The arguments of a macro.
fn arguments(group: &Group) -> Vec<TokenStream> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(mark) if mark.as_char() == ',');
    tokens.split(is_comma).map(|part| part.iter().cloned().collect()).collect()
}

/// The text of a literal, if it is a string.
pub fn content(literal: &str) -> Option<String> {
    let quoted = literal.trim_start_matches('r').trim_matches('#');
    let text = quoted.strip_prefix('"')?.strip_suffix('"')?;
    let mut lines = text.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    Some(lines.fold(first, |text, line| text + line.trim_start()))
}

/// Files outside of [`PLACES`] with their asserted prose.
fn found() -> Vec<(&'static str, Vec<(usize, String)>)> {
    let elsewhere = files_ending(&[".rs"])
        .filter(|name| name.starts_with("crates/") && !PLACES.iter().any(|(place, _)| name.starts_with(place)));
    let read = elsewhere.map(|name| {
        let source = text(name);
        let (before, tests) = tests_in(name, &source);
        (name, asserted(tests).into_iter().map(|(line, prose)| (before + line, prose)).collect())
    });
    read.collect()
}

/// The folder of the crate of a source.
fn crate_of(name: &str) -> &str {
    let ends = ["/src/", "/tests/", "/benches/", "/examples/"].into_iter().filter_map(|part| name.find(part));
    &name[..ends.min().unwrap_or(name.len())]
}

#[test]
fn tests_assert_facts_and_not_sentences() {
    let found = found();
    let mut by_crate: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, prose) in &found {
        *by_crate.entry(crate_of(name)).or_default() += prose.len();
    }
    let total: usize = by_crate.values().sum();
    for (name, count) in by_crate.iter().filter(|(_, count)| **count > 0) {
        println!("{count:4} {name}");
    }
    println!("{total:4} in all");
    let lines = || {
        found
            .iter()
            .flat_map(|(name, prose)| prose.iter().map(move |(line, prose)| format!("{name}:{line}: \"{prose}\"")))
    };
    if total > MOST {
        assert_none("assert a code, a field or a number, or use fixtures::assert_sentence!", lines().collect());
    }
    assert_eq!(total, MOST, "there are fewer: lower MOST");
}

#[test]
fn every_place_of_words_asserts_some() {
    let idle = PLACES.iter().filter(|(place, _)| {
        let inside = files_ending(&[".rs"]).filter(|name| name.starts_with(place));
        inside.map(text).all(|source| asserted(&source).is_empty())
    });
    assert_none("these need no place in the list", idle.map(|(place, _)| (*place).to_owned()).collect());
}

#[test]
fn every_golden_sentence_has_a_test() {
    let goldens = files_ending(&["/tests/sentences.txt"]);
    let unused = goldens.flat_map(|golden| {
        let folder = golden.trim_end_matches("tests/sentences.txt");
        let sources: String = files_ending(&[".rs"]).filter(|name| name.starts_with(folder)).map(text).collect();
        let file = text(golden);
        let names: Vec<String> = sections(&file).into_keys().map(|name| format!("\"{name}\"")).collect();
        names.into_iter().filter(move |name| !sources.contains(name)).map(move |name| format!("{golden}: {name}"))
    });
    assert_none("no test makes these sentences; delete them", unused.collect());
}

#[test]
fn prose_is_words_in_a_row() {
    for prose in
        ["the run ended early because", "FAIL: on every CPU, 3 wake-ups; no more of it", "tardy: failed to \\n read it"]
    {
        assert!(is_prose(prose), "{prose}");
    }
    for other in [
        "usage.no-such-archive",
        "write `tardy lab serve in a shell` there",
        "on it is a",
        "--load cpu --limit 100us",
        "run: tardy target restore every board",
        "NOT ENOUGH DATA AT ALL",
        "1 of 2 seeds in 3 runs",
        "sched_switch prev_comm next_comm prev_state",
    ] {
        assert!(!is_prose(other), "{other}");
    }
}

#[test]
fn prose_counts_where_it_is_compared() {
    let lines = |tests: &str| asserted(tests).into_iter().map(|(line, _)| line).collect::<Vec<_>>();
    let prose = "\"the run ended early because\"";
    for (code, expected) in [
        ("assert!(text.contains(PROSE), PROSE);", 1),
        ("assert_eq!(text, PROSE);", 1),
        ("assert_eq!(parse(PROSE), Some(3), PROSE);", 0),
        ("assert_eq!(parse(3), Err(PROSE.to_owned()));", 1),
        ("assert_eq!(texts(), vec![\"a\", PROSE]);", 1),
        ("assert!(lines.any(|line| line == PROSE));", 1),
        ("wait_until(PROSE, || text.starts_with(PROSE));", 1),
        ("let line = lines.find(|line| line.contains(PROSE)).expect(PROSE);", 1),
        ("assert_refused(&[\"run\"], PROSE);", 1),
        ("assert!(matches!(text, PROSE | PROSE));", 2),
        ("#[error(PROSE)] struct Error;", 0),
        ("assert_sentence!(\"name\", text);", 0),
        ("/// Says that the run ended early.\nfn other() {}", 0),
    ] {
        assert_eq!(lines(&code.replace("PROSE", prose)).len(), expected, "{code}");
    }
    let (before, tests) = tests_in(
        "crates/a/src/b.rs",
        "fn a() {}\n#[cfg(test)]\nmod tests {\n    assert_eq!(a, \"one more word here\");\n}",
    );
    assert_eq!((before, lines(tests)), (1, vec![3]));
}
