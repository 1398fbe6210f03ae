//! Names that a target chose, made fit for an index: short, printable, and still different from each other.

use sha2::{Digest, Sha256};
use words::printable::printable;

const LETTERS_MAX: usize = 120;

/// The name with what moves a cursor or reorders text escaped. A longer one ends in its checksum instead. An empty one is
/// `unknown`.
pub fn label(text: &str) -> String {
    let safe = printable(text.trim());
    let plain: String = safe.chars().filter(|letter| !is_mark(*letter)).collect();
    match plain.chars().count() {
        0 => "unknown".into(),
        count if count <= LETTERS_MAX && plain == safe => plain,
        _ => {
            let start: String = plain.chars().take(LETTERS_MAX).collect();
            format!("{}…{}", start, &hex(text.as_bytes())[..8])
        }
    }
}

/// Marks that combine with the letter before: thousands of them draw over the lines around.
fn is_mark(letter: char) -> bool {
    matches!(letter, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{1ab0}'..='\u{1aff}' | '\u{1dc0}'..='\u{1dff}'
        | '\u{20d0}'..='\u{20ff}' | '\u{fe00}'..='\u{fe0f}' | '\u{fe20}'..='\u{fe2f}')
}

/// SHA-256 in hexadecimal.
pub fn hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// SHA-256 of several parts, none of which can be taken for a part of another.
pub fn hex_of(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_stay_short_printable_and_different() {
        assert_eq!(label(" pi4 µ "), "pi4 µ");
        assert_eq!(label("\t"), "unknown");
        assert_eq!(label("a\x1b[2J"), "a\\u{1b}[2J");
        let marks = format!("a{}", "\u{301}".repeat(10_000));
        let more = format!("{marks}\u{301}");
        assert_eq!(label(&marks).chars().next(), Some('a'));
        assert!(label(&marks).chars().count() < 200 && label(&marks) != label(&more) && label(&marks) != label("a"));
        let long = "x".repeat(10_000);
        assert!(label(&long).chars().count() < 200 && label(&long) != label(&"x".repeat(9_999)));
    }

    #[test]
    fn parts_are_kept_apart() {
        assert_ne!(hex_of(&["ab", "c"]), hex_of(&["a", "bc"]));
        assert_eq!(hex(b""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    }
}
