//! Tokenises the C of a print format.

use crate::printk_formats::unescape;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Name(String),
    Number {
        value: u64,
        unsigned: bool,
    },
    Text(String),
    /// One of the operators and separators, at most three characters.
    Mark(&'static str),
}

/// More than the longest format of any kernel; limits the cost of hostile ones.
const TOKENS_MAX: usize = 20_000;

/// Longer marks first, so that `<<` is not read as two `<`.
const MARKS: [&str; 29] = [
    "->", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "(", ")", "[", "]", "{", "}", ",", "?", ":", "+", "-", "*",
    "/", "%", "&", "|", "^", "~", "!", ".",
];
const ANGLES: [&str; 2] = ["<", ">"];

/// `None` if the text is not valid C.
pub(super) fn tokens(text: &str) -> Option<Vec<Token>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        if tokens.len() >= TOKENS_MAX {
            return None;
        }
        let (token, length) = match first {
            '"' => text_token(rest)?,
            '\'' => character_token(rest)?,
            '0'..='9' => number_token(rest)?,
            'a'..='z' | 'A'..='Z' | '_' => {
                let length = word_length(rest);
                (Token::Name(rest[..length].to_owned()), length)
            }
            _ => {
                let mark = MARKS.iter().chain(&ANGLES).find(|mark| rest.starts_with(**mark))?;
                (Token::Mark(mark), mark.len())
            }
        };
        rest = rest[length..].trim_start();
        tokens.push(token);
    }
    Some(tokens)
}

fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(text.len())
}

fn text_token(text: &str) -> Option<(Token, usize)> {
    let end = closing(text, '"')?;
    Some((Token::Text(unescape(&text[1..end])), end + 1))
}

fn character_token(text: &str) -> Option<(Token, usize)> {
    let end = closing(text, '\'')?;
    let inside = unescape(&text[1..end]);
    let mut characters = inside.chars();
    let value = match (characters.next()?, characters.next()) {
        ('\\', Some('0')) => 0,
        (character, None) => u64::from(u32::from(character)),
        _ => return None,
    };
    Some((Token::Number { value, unsigned: false }, end + 1))
}

/// Index of the quote that ends a text that starts with one.
fn closing(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (index, character) in text.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if character == quote => return Some(index),
            _ => {}
        }
    }
    None
}

fn number_token(text: &str) -> Option<(Token, usize)> {
    let length = word_length(text);
    let word = &text[..length];
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let unsigned = word[digits.len()..].contains(['u', 'U']);
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(hex) => u64::from_str_radix(hex, 16).ok()?,
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(&digits[1..], 8).ok()?,
        None => digits.parse().ok()?,
    };
    Some((Token::Number { value, unsigned: unsigned || value > i64::MAX as u64 }, length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splits_c_into_words() {
        let tokens = tokens(r#""a\"b\n", REC->x<<0x10UL >= 'A' ? 010 : y_1"#).unwrap();
        let number = |value, unsigned| Token::Number { value, unsigned };
        let name = |name: &str| Token::Name(name.to_owned());
        assert_eq!(
            tokens,
            [
                Token::Text("a\"b\n".into()),
                Token::Mark(","),
                name("REC"),
                Token::Mark("->"),
                name("x"),
                Token::Mark("<<"),
                number(16, true),
                Token::Mark(">="),
                number(65, false),
                Token::Mark("?"),
                number(8, false),
                Token::Mark(":"),
                name("y_1"),
            ]
        );
    }

    #[test]
    fn text_that_is_not_c_is_refused() {
        for text in ["\"open", "12ab", "@", "'ab'", "99999999999999999999", "\u{e9}"] {
            assert_eq!(tokens(text), None, "{text}");
        }
    }
}
