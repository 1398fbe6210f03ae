//! Makes untrusted strings safe for a terminal.

/// The text with every character escaped that could move the cursor, change colours, or reorder text.
pub fn printable(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_control() || reorders(letter) {
            safe.extend(letter.escape_default());
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// Direction overrides, line separators and zero-width marks: a name with them looks like another name.
fn reorders(letter: char) -> bool {
    matches!(letter, '\u{061c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_become_text() {
        assert_eq!(printable("a\x1b[31mb\x07\u{9b}"), "a\\u{1b}[31mb\\u{7}\\u{9b}");
        assert_eq!(printable("line\nbreak\ttab\r"), "line\\nbreak\\ttab\\r");
        assert_eq!(printable("\u{202e}evil"), "\\u{202e}evil");
    }

    #[test]
    fn ordinary_names_stay() {
        assert_eq!(printable("kworker/0:1-events 3 µs"), "kworker/0:1-events 3 µs");
    }
}
