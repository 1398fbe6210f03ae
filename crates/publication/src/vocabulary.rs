//! Words that say nothing about a user: those of tardy's own texts, and a few of the kernel.

use std::collections::HashSet;
use std::sync::LazyLock;

/// Written by a test from the texts in the sources of the other crates.
const OWN: &str = include_str!("vocabulary/own.txt");
/// Functions, interrupts, work queues, mitigations and settings of the kernel, and words of processor models.
const KERNEL: &str = include_str!("vocabulary/kernel.txt");

static WORDS: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    OWN.split_whitespace()
        .chain(KERNEL.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace))
        .collect()
});

/// Whether a word is one of them, or one with a number at its end (`cpu3`). Options of the kernel are in the
/// list without `CONFIG_`.
pub fn is_known(word: &str) -> bool {
    let word = word.strip_prefix("CONFIG_").unwrap_or(word);
    let stem = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    WORDS.contains(word) || stem.len() > 1 && WORDS.contains(stem)
}

/// Whether a letter is part of a word.
pub fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// The words of a text.
pub fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter| !in_word(letter)).filter(|word| word.chars().any(char::is_alphabetic))
}
