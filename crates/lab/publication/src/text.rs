//! Texts without names: of a sentence only known words, numbers and units stay.

mod kernel_thread;
mod release;

use crate::changes::Changes;
use crate::pattern;
use crate::pseudonym::PseudonymKey;
use crate::rules::{RELEASES, TASKS};
use crate::vocabulary::{in_word, is_known, is_public, words_of};
use archive::load::BUILTIN_LOADS;
use kernel_thread::kernel_thread;
use std::collections::{BTreeSet, HashMap};

/// Names that are known from fields with nothing else in them, each with the prefix of its pseudonym and its kind.
#[derive(Debug, Default)]
pub struct Names {
    known: HashMap<String, (&'static str, &'static str)>,
    lengths: BTreeSet<usize>,
}

impl Names {
    /// Adds a name; the first kind of a name counts.
    pub(crate) fn add(&mut self, name: &str, prefix: &'static str, kind: &'static str) {
        if !name.is_empty() {
            self.lengths.insert(name.len());
            self.known.entry(name.to_owned()).or_insert((prefix, kind));
        }
    }

    /// The longest name at the start of a text that ends with a word.
    fn longest_at<'a>(&self, text: &'a str) -> Option<(&'a str, &'static str, &'static str)> {
        self.lengths.iter().rev().find_map(|length| {
            let name = text.get(..*length)?;
            let ends = !text[*length..].starts_with(in_word);
            let (prefix, kind) = self.known.get(name).filter(|_| ends)?;
            Some((name, *prefix, *kind))
        })
    }
}

/// Makes texts anonymous.
#[derive(Debug)]
pub struct Anonymiser<'a> {
    pub key: &'a PseudonymKey,
    /// Names of programs and devices that stay.
    pub kept: &'a [String],
    pub names: &'a Names,
    pub changes: Changes,
}

pub const WORDS: &str = "unknown words in texts";

impl Anonymiser<'_> {
    /// The pseudonym of a name.
    pub fn pseudonym(&mut self, prefix: &'static str, kind: &'static str, name: &str) -> String {
        if name.is_empty() {
            return String::new();
        }
        self.changes.replaced(kind, name);
        self.key.pseudonym(prefix, name)
    }

    /// A name of a thread or program. Kernel threads, those of tardy and those that the user keeps have theirs.
    pub fn task(&mut self, name: &str) -> String {
        if self.is_kept(name) || is_own(name) {
            return name.into();
        }
        match kernel_thread(name) {
            Some(thread) => self.shown_thread(&thread),
            None => self.pseudonym("task", TASKS, name),
        }
    }

    /// Whether the user keeps a name.
    pub fn is_kept(&self, name: &str) -> bool {
        self.kept.iter().any(|kept| pattern::matches(kept, name))
    }

    /// The text with known words, numbers and units, and pseudonyms for the rest.
    pub fn text(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        let (mut at, mut from) = (0, 0);
        let mut before = None;
        while let Some(letter) = text[at..].chars().next() {
            let starts = !before.is_some_and(in_word);
            let found = if starts { self.names.longest_at(&text[at..]) } else { None };
            match found.filter(|(name, ..)| has_tid(&text[at + name.len()..]) || !self.stays(name, is_known)) {
                Some((name, prefix, kind)) => {
                    shown += &self.words(&text[from..at]);
                    shown += &match kind {
                        TASKS => self.task(name),
                        RELEASES => self.release(name),
                        _ => self.pseudonym(prefix, kind, name),
                    };
                    at += name.len();
                    // The number of the thread.
                    let tid = if has_tid(&text[at..]) { tid_end(&text[at..]) } else { 0 };
                    shown += &text[at..at + tid];
                    at += tid;
                    from = at;
                    before = text[..at].chars().next_back();
                }
                None => {
                    at += letter.len_utf8();
                    before = Some(letter);
                }
            }
        }
        shown + &self.words(&text[from..])
    }

    fn words(&mut self, text: &str) -> String {
        let mut shown = String::with_capacity(text.len());
        for piece in text.split_inclusive(char::is_whitespace) {
            let word = piece.trim_end_matches(char::is_whitespace);
            let core = word.trim_matches(|letter: char| !in_word(letter));
            if core.is_empty() || is_flags(word) || self.stays(core, is_public) {
                shown += piece;
                continue;
            }
            let at = word.find(core).unwrap_or(0);
            shown += &word[..at];
            shown += &self.unknown(core);
            shown += &piece[at + core.len()..];
        }
        shown
    }

    /// A word that does not stay: `NAME-TID`, or anything.
    fn unknown(&mut self, core: &str) -> String {
        if let Some(thread) = kernel_thread(core) {
            return self.shown_thread(&thread);
        }
        match core.rsplit_once('-').filter(|(_, tid)| is_digits(tid)) {
            Some((name, tid)) => format!("{}-{tid}", self.task(name)),
            None => self.pseudonym("name", WORDS, core),
        }
    }

    fn shown_thread(&mut self, thread: &kernel_thread::KernelThread<'_>) -> String {
        let tail = match thread.tail {
            "" => String::new(),
            tail if self.stays(tail, is_public) => tail.into(),
            tail => self.pseudonym("name", TASKS, tail),
        };
        format!("{}{tail}{}", thread.head, thread.tid)
    }

    /// Whether a word stays, by the words that `is_word` lists. A known name of a thread or host stays only where it is a word of tardy: a user
    /// may have called a thread like a function.
    fn stays(&self, core: &str, is_word: fn(&str) -> bool) -> bool {
        // `NAME-TID`: a thread that is called like known words is one still.
        let thread = core.rsplit_once('-').filter(|(name, tid)| is_digits(tid) && name.contains(char::is_alphabetic));
        if let Some((name, _)) = thread {
            return is_own(name) || self.is_kept(name);
        }
        if let Some((name, value)) = core.split_once('=') {
            return [name, value].into_iter().all(|side| self.stays(side, is_word));
        }
        is_number(core) || is_word(core) || is_version(core) || self.is_kept(core) || is_compound(core, is_word)
    }
}

/// Threads of tardy, of its meter and of its loads: `tardy-cpu1`, `tardy:capture`, `load-messaging`, `messaging-recv`.
fn is_own(name: &str) -> bool {
    let of_load = name.strip_prefix("load-").unwrap_or(name);
    let tail = match BUILTIN_LOADS.iter().find_map(|load| of_load.strip_prefix(load.name)) {
        Some(tail) => tail,
        None => name.strip_prefix("tardy").unwrap_or("?"),
    };
    (tail.is_empty() || tail.starts_with(['-', ':'])) && words_of(tail).all(is_known)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.len() <= 10 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Length of `-TID` at the start of a text.
fn tid_end(text: &str) -> usize {
    1 + text[1..].bytes().take_while(u8::is_ascii_digit).count()
}

fn has_tid(text: &str) -> bool {
    text.starts_with('-') && {
        let end = tid_end(text);
        is_digits(&text[1..end]) && !text[end..].starts_with(in_word)
    }
}

/// `12`, `4.5`, `1_000`, with a unit: not `10.0.0.1`, and no address in hexadecimal digits.
fn is_number(text: &str) -> bool {
    let figure = text.trim_end_matches(char::is_alphabetic);
    let unit = &text[figure.len()..];
    let parts: Vec<&str> = figure.split('.').collect();
    parts.len() <= 2 && parts.iter().all(|part| is_digits(part)) && (unit.is_empty() || is_known(unit))
}

/// `6.12.8`, which an address of a network is not.
fn is_version(text: &str) -> bool {
    let parts: Vec<&str> = text.split('.').collect();
    parts.len() == 3 && parts.iter().all(|part| is_digits(part) && part.len() <= 4)
}

/// An offset in a function, not an address.
fn is_offset(text: &str) -> bool {
    text.strip_prefix("0x")
        .is_some_and(|digits| (1..=4).contains(&digits.len()) && digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
}

/// The four or five letters of the state in a line of a trace, `dNh1`.
fn is_flags(text: &str) -> bool {
    let sets = ["dDbBX.", "nNpBLbl.", "hHsSzZ.", "0123456789abcdef.", "0123456789abcdef."];
    (4..=5).contains(&text.len()) && text.chars().zip(sets).all(|(letter, set)| set.contains(letter))
}

/// Known words and numbers with signs between them, `kvm:kvm_exit`, `0-3,5`; not an address of a network.
fn is_compound(text: &str, is_word: fn(&str) -> bool) -> bool {
    let parts: Vec<&str> = text.split(|letter| !in_word(letter)).filter(|part| !part.is_empty()).collect();
    let numbers = parts.iter().filter(|part| is_digits(part)).count();
    let is_address = (text.contains(':') || text.contains('.')) && (numbers >= 3 || parts.len() > 3);
    let stays =
        |part: &&str| is_word(part) || is_digits(part) || is_offset(part) || !text.contains(':') && is_number(part);
    parts.len() > 1 && !is_address && parts.iter().all(stays)
}

#[cfg(test)]
mod tests;
