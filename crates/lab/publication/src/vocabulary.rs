//! Words that say nothing about a user: those of tardy's own texts, and those of the Linux kernel.

mod device;
pub mod functions;

use std::collections::HashSet;
use std::sync::LazyLock;

/// Written by a test from the texts in the sources of the other crates.
const OWN: &str = include_str!("vocabulary/own.txt");
/// Functions, interrupts, work queues, mitigations and settings of the kernel, and words of processor models.
const KERNEL: &str = include_str!("vocabulary/kernel.txt");

/// Further work queues and threads, file systems, modules.
const LINUX: &str = include_str!("vocabulary/linux.txt");

/// Of the number at the end of a word; a longer one could be anything.
const DIGITS_MAX: usize = 4;

static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| OWN.split_whitespace().chain(words_in(KERNEL)).collect());
static PUBLIC: LazyLock<HashSet<&str>> = LazyLock::new(|| words_in(LINUX).collect());

fn words_in(list: &'static str) -> impl Iterator<Item = &'static str> {
    list.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace)
}

/// Whether a word is one of them, or one with a number at its end (`cpu3`). Options of the kernel are in the
/// list without `CONFIG_`.
pub fn is_known(word: &str) -> bool {
    let word = word.strip_prefix("CONFIG_").unwrap_or(word);
    let stem = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = stem.len() > 1 && word.len() - stem.len() <= DIGITS_MAX;
    WORDS.contains(word) || is_numbered && WORDS.contains(stem)
}

/// Whether a word is known, or names what every Linux has: a function or event of the kernel, or a device as the kernel numbers it.
/// A user may have given a thread such a name, so names from fields of names are looked for first.
pub fn is_public(word: &str) -> bool {
    is_known(word) || PUBLIC.contains(word) || functions::is_function(word) || device::is_device(word)
}

/// Whether a letter is part of a word.
pub fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The words of a text.
pub fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !in_word(letter)).filter(|word| word.chars().any(char::is_alphabetic))
}
