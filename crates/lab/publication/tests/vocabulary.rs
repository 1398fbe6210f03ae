//! The vocabulary has the words of the texts in the sources: sentences of tardy stay readable when they are made anonymous.
//!
//! `UPDATE_GOLDEN=1 cargo test -p publication --test vocabulary` writes it again.

use publication::words_of;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates whose texts get into an archive.
const CRATES: [&str; 11] =
    ["archive", "audit", "explain", "judge", "load", "machines", "meter", "readiness", "report", "runner", "words"];
/// Words that may be missing until the vocabulary is written again: they get a pseudonym meanwhile.
const MISSING_PERCENT_MAX: usize = 3;

/// The sources of a crate, in whichever storey it stands.
fn folder(name: &str) -> PathBuf {
    let storeys = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut storeys = fs::read_dir(storeys).unwrap().map(|entry| entry.unwrap().path().join(name).join("src"));
    storeys.find(|path| path.is_dir()).unwrap_or_else(|| panic!("there is no crate {name}"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "rs")
            && path.file_stem().is_none_or(|name| name != "tests")
        {
            found.push(path);
        }
    }
}

/// The texts between quotation marks outside of comments and tests, without what stands in braces.
fn texts(source: &str) -> String {
    let source = source.split("#[cfg(test)]\nmod").next().unwrap_or_default();
    let lines = source.lines().filter(|line| !line.trim_start().starts_with("//"));
    let source = lines.collect::<Vec<_>>().join("\n").replace("\\\"", " ").replace("\\n", " ").replace("'\"'", " ");
    let quoted: String = source.split('"').skip(1).step_by(2).fold(String::new(), |all, text| all + text + "\n");
    let mut depth = 0;
    let outside = quoted.chars().map(|letter| {
        depth += i32::from(letter == '{') - i32::from(letter == '}' && depth > 0);
        if letter == '\n' && depth > 0 {
            depth = 0;
        }
        if depth == 0 { letter } else { ' ' }
    });
    outside.collect()
}

#[test]
fn the_vocabulary_has_the_words_of_the_texts() {
    let mut found = Vec::new();
    CRATES.iter().for_each(|name| sources(&folder(name), &mut found));
    let mut words = BTreeSet::new();
    for path in found {
        let text = texts(&fs::read_to_string(path).unwrap());
        words.extend(words_of(&text).filter(|word| word.is_ascii() || word.chars().count() < 3).map(str::to_owned));
    }
    assert!(words.len() > 2000 && words.contains("hypervisor"), "{}", words.len());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/vocabulary/own.txt");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, words.iter().map(|word| format!("{word}\n")).collect::<String>()).unwrap();
    }
    let written = fs::read_to_string(path).unwrap();
    let written: BTreeSet<&str> = written.lines().collect();
    let missing: Vec<&String> = words.iter().filter(|word| !written.contains(word.as_str())).collect();
    assert!(missing.len() * 100 <= words.len() * MISSING_PERCENT_MAX, "write it again, it lacks {missing:?}");
}
