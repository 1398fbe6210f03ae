//! Functions and trace events of the Linux kernel, as it is published: who reads that one of them ran learns nothing about a user. Whether a
//! symbol came from a module is no criterion: a user's own driver may be built in. A function that is not in the list stays a secret.

use std::collections::HashSet;
use std::sync::LazyLock;

/// One name a line, ascending: the length that it shares with the name before, as a digit of base 36, and the rest.
const CODED: &str = include_str!("functions.txt");
/// Copies of a function that compilers make are called `NAME.isra.0`.
const COPIES: [&str; 5] = ["isra", "constprop", "part", "cold", "localalias"];
const COPY_DIGITS_MAX: usize = 3;
const OFFSET_DIGITS_MAX: usize = 5;

static NAMES: LazyLock<HashSet<String>> = LazyLock::new(|| names().collect());

/// The names, ascending.
pub fn names() -> impl Iterator<Item = String> {
    let lines = CODED.lines().filter(|line| !line.starts_with('#'));
    lines.scan(String::new(), |name, line| {
        let shared = line.chars().next().and_then(|digit| digit.to_digit(36)).unwrap_or(0);
        name.truncate(shared as usize);
        name.push_str(line.get(1..).unwrap_or_default());
        Some(name.clone())
    })
}

/// Whether a word is such a function: alone, as a copy that a compiler made (`NAME.constprop.0`), or with an offset (`NAME+0x1c/0x40`).
pub fn is_function(word: &str) -> bool {
    let (name, rest) = word.split_at(word.find(['.', '+']).unwrap_or(word.len()));
    let (copy, offset) = rest.split_at(rest.find('+').unwrap_or(rest.len()));
    are_copies(copy) && (offset.is_empty() || offset[1..].splitn(2, '/').all(is_offset)) && NAMES.contains(name)
}

/// Kinds of copies, each with or without its number: a number alone could be part of an address.
fn are_copies(text: &str) -> bool {
    let mut may_be_number = false;
    text.split('.').skip(1).all(|part| {
        let is_number = may_be_number && are_digits(part, COPY_DIGITS_MAX, u8::is_ascii_digit);
        may_be_number = COPIES.contains(&part);
        may_be_number || is_number
    })
}

fn is_offset(text: &str) -> bool {
    text.strip_prefix("0x").is_some_and(|digits| are_digits(digits, OFFSET_DIGITS_MAX, u8::is_ascii_hexdigit))
}

fn are_digits(text: &str, length_max: usize, is_digit: fn(&u8) -> bool) -> bool {
    (1..=length_max).contains(&text.len()) && text.as_bytes().iter().all(is_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_functions_are_known_and_names_like_them_are_not() {
        for name in
            ["ext4_end_io_rsv_work", "futex_wait_queue", "do_nanosleep", "__x64_sys_futex", "nvme_irq", "sched_switch"]
        {
            assert!(is_function(name), "{name}");
            assert!(
                is_function(&format!("{name}+0x1c/0x40")) && is_function(&format!("{name}.constprop.0+0x1c")),
                "{name}"
            );
            for other in [
                format!("{name}_acme"),
                format!("acme_{name}"),
                format!("{name}7"),
                format!("{name}.acme"),
                format!("{name}+0xffff8880123"),
                format!("{name}.10.0.0.1"),
                format!("{name}.isra.10.7"),
                name.to_uppercase(),
            ] {
                assert!(!is_function(&other), "{other}");
            }
        }
    }

    #[test]
    fn no_word_of_a_language_is_in_the_list() {
        let mut before = String::new();
        for name in names() {
            assert!(name > before, "{name} after {before}");
            assert!(name.trim_matches('_').contains('_') && name.len() >= 5, "{name}");
            assert!(name.bytes().all(|letter| letter.is_ascii_alphanumeric() || letter == b'_'), "{name}");
            before = name;
        }
        assert!(NAMES.len() > 50_000, "{}", NAMES.len());
    }
}
