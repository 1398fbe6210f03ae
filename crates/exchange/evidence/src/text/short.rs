//! Searches in the few bytes up to the next column. Searches of the standard library are made for long texts, and take most of the time
//! of a line.

/// The text before the first such byte, which is ASCII, and the text behind it.
pub fn split_at_byte(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = text.bytes().position(|one| one == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The same for the last such byte.
pub fn split_at_last_byte(text: &str, byte: u8) -> Option<(&str, &str)> {
    let at = text.bytes().rposition(|one| one == byte)?;
    Some((&text[..at], &text[at + 1..]))
}

/// The text without spaces at its beginning.
pub fn without_spaces(text: &str) -> &str {
    let spaces = text.bytes().take_while(|byte| *byte == b' ').count();
    &text[spaces..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_split_at_its_first_or_last_byte() {
        assert_eq!(split_at_byte("ä:b:c", b':'), Some(("ä", "b:c")));
        assert_eq!(split_at_last_byte("ä:b:c", b':'), Some(("ä:b", "c")));
        assert_eq!(split_at_byte("", b':'), None);
        assert_eq!(without_spaces("  a b "), "a b ");
    }
}
