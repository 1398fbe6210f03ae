//! Makes untrusted strings safe for a terminal.

/// Letters of a name that a page or a title shows.
const NAME_LETTERS_MAX: usize = 200;

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

/// A page without characters that are not seen, apart from those that lay out its source: in a page, a name from a target
/// with them looks like another name, and a terminal obeys them.
pub fn printable_page(page: &str) -> String {
    if !page.chars().any(is_hidden) {
        return page.to_owned();
    }
    let mut safe = String::with_capacity(page.len());
    for letter in page.chars() {
        if is_hidden(letter) { safe.extend(letter.escape_default()) } else { safe.push(letter) }
    }
    safe
}

fn is_hidden(letter: char) -> bool {
    (letter.is_control() && !matches!(letter, '\n' | '\t')) || reorders(letter)
}

/// The first letters of a name; a target may have one of any length.
pub fn short_name(name: &str) -> String {
    match name.char_indices().nth(NAME_LETTERS_MAX) {
        Some((end, _)) => format!("{}…", &name[..end]),
        None => name.to_owned(),
    }
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
    fn a_page_keeps_its_layout_and_nothing_else_that_is_not_seen() {
        assert_eq!(printable_page("<p>\n\ta\x1b]0;b\x07\u{202e}</p>"), "<p>\n\ta\\u{1b}]0;b\\u{7}\\u{202e}</p>");
        assert_eq!(short_name(&"ä".repeat(100_000)).chars().count(), NAME_LETTERS_MAX + 1);
        assert_eq!(short_name("board"), "board");
    }

    #[test]
    fn ordinary_names_stay() {
        assert_eq!(printable("kworker/0:1-events 3 µs"), "kworker/0:1-events 3 µs");
    }
}
