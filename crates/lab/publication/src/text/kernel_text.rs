//! Texts that Linux and the firmware write: of a sentence only known words, numbers and units stay.

use super::{Anonymiser, device::is_device};
use crate::figure::{is_digits, is_figure};
use crate::rules::WORDS;
use std::collections::HashSet;
use std::sync::LazyLock;

/// Work queues, interrupts, mitigations and settings of the kernel, and words of processor models.
const KERNEL: &str = include_str!("kernel.txt");
/// Of the number at the end of a word; a longer one could be anything.
const DIGITS_MAX: usize = 4;

static KNOWN: LazyLock<HashSet<&str>> =
    LazyLock::new(|| KERNEL.lines().filter(|line| !line.starts_with('#')).flat_map(str::split_whitespace).collect());

/// Whether a word is one of the list, or one with a number at its end (`cpu3`), or a device as the kernel numbers it.
pub(super) fn is_known(word: &str) -> bool {
    let stem = word.trim_end_matches(|letter: char| letter.is_ascii_digit());
    let is_numbered = stem.len() > 1 && word.len() - stem.len() <= DIGITS_MAX;
    KNOWN.contains(word) || is_numbered && KNOWN.contains(stem) || is_device(word)
}

fn in_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

impl Anonymiser<'_> {
    /// The text with known words, numbers and units, and pseudonyms for the rest.
    pub(super) fn kernel_text(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end_matches(char::is_whitespace);
            let core = word.trim_matches(|letter: char| !in_word(letter));
            if core.is_empty() || self.stays(core) {
                shown += piece;
                continue;
            }
            let at = word.find(core).unwrap_or(0);
            shown += &word[..at];
            shown += &self.pseudonym("name", WORDS, core);
            shown += &piece[at + core.len()..];
        }
        shown
    }

    fn stays(&self, core: &str) -> bool {
        if let Some((name, value)) = core.split_once('=') {
            return [name, value].into_iter().all(|side| self.stays(side));
        }
        is_figure(core) || is_known(core) || self.is_kept(core) || is_compound(core)
    }
}

/// Known words and numbers with signs between them, `refined-jiffies`; not an address of a network.
fn is_compound(text: &str) -> bool {
    let parts: Vec<&str> = text.split(|letter| !in_word(letter)).filter(|part| !part.is_empty()).collect();
    let numbers = parts.iter().filter(|part| is_digits(part)).count();
    let is_address = (text.contains(':') || text.contains('.')) && (numbers >= 3 || parts.len() > 3);
    parts.len() > 1 && !is_address && parts.iter().all(|part| is_known(part) || is_digits(part))
}
