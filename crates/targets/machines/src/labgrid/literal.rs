//! Parses Python literals, in which `labgrid-client show` prints resources.

/// Deeper brackets are not parsed.
const DEPTH: usize = 32;

/// A value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Literal {
    Text(String),
    /// A number, `True`, `None` and the like, as written.
    Word(String),
    List(Vec<Literal>),
    Table(Vec<(Literal, Literal)>),
}

impl Literal {
    /// The value at the start of a text, if there is one.
    pub fn parse(text: &str) -> Option<Self> {
        Reader { rest: text }.value(0)
    }

    /// The value of a key of a table.
    pub fn get(&self, key: &str) -> Option<&Self> {
        let Self::Table(pairs) = self else { return None };
        pairs.iter().find(|(found, _)| found.text() == Some(key)).map(|(_, value)| value)
    }

    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn word(&self) -> Option<&str> {
        match self {
            Self::Word(word) => Some(word),
            _ => None,
        }
    }
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn value(&mut self, depth: usize) -> Option<Literal> {
        if depth > DEPTH {
            return None;
        }
        self.skip_blanks();
        match self.rest.chars().next()? {
            quote @ ('\'' | '"') => self.texts(quote).map(Literal::Text),
            '[' => self.list(']', depth),
            '(' => {
                let list = self.list(')', depth)?;
                // A long string is printed as several in brackets.
                match &list {
                    Literal::List(items) if items.len() == 1 => Some(items[0].clone()),
                    _ => Some(list),
                }
            }
            '{' => self.table(depth),
            _ => self.word(),
        }
    }

    /// A string, and those that follow it with only whitespace between.
    fn texts(&mut self, first: char) -> Option<String> {
        let mut whole = self.quoted(first)?;
        loop {
            let before = self.rest;
            self.skip_blanks();
            match self.rest.chars().next() {
                Some(quote @ ('\'' | '"')) => whole.push_str(&self.quoted(quote)?),
                _ => {
                    self.rest = before;
                    return Some(whole);
                }
            }
        }
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        self.rest = &self.rest[1..];
        let mut text = String::new();
        let mut letters = self.rest.char_indices();
        while let Some((at, letter)) = letters.next() {
            match letter {
                letter if letter == quote => {
                    self.rest = &self.rest[at + 1..];
                    return Some(text);
                }
                '\\' => match letters.next()?.1 {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'x' => {
                        let digits: String = [letters.next()?.1, letters.next()?.1].into_iter().collect();
                        text.push(u8::from_str_radix(&digits, 16).ok()?.into());
                    }
                    other => text.push(other),
                },
                letter => text.push(letter),
            }
        }
        None
    }

    fn list(&mut self, end: char, depth: usize) -> Option<Literal> {
        self.rest = &self.rest[1..];
        let mut items = Vec::new();
        loop {
            if self.take(end) {
                return Some(Literal::List(items));
            }
            items.push(self.value(depth + 1)?);
            if !self.take(',') && !self.ahead(end) {
                return None;
            }
        }
    }

    fn table(&mut self, depth: usize) -> Option<Literal> {
        self.rest = &self.rest[1..];
        let mut pairs = Vec::new();
        loop {
            if self.take('}') {
                return Some(Literal::Table(pairs));
            }
            let key = self.value(depth + 1)?;
            if !self.take(':') {
                return None;
            }
            pairs.push((key, self.value(depth + 1)?));
            if !self.take(',') && !self.ahead('}') {
                return None;
            }
        }
    }

    fn word(&mut self) -> Option<Literal> {
        let plain = |letter: char| letter.is_alphanumeric() || "+-._".contains(letter);
        let end = self.rest.find(|letter| !plain(letter)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then(|| Literal::Word(word.to_owned()))
    }

    fn skip_blanks(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn ahead(&mut self, letter: char) -> bool {
        self.skip_blanks();
        self.rest.starts_with(letter)
    }

    fn take(&mut self, letter: char) -> bool {
        let there = self.ahead(letter);
        if there {
            self.rest = &self.rest[letter.len_utf8()..];
        }
        there
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn output_of_pprint_is_read() {
        let text = "{'avail': True,\n 'params': {'address': '127.0.0.1',\n            'extra': {'proxy': \"it's\"},\n \
                    'port': 20222,\n 'list': [1, (2, 3), ()],\n 'long': ('one '\n          'two')}} and more";
        let value = Literal::parse(text).unwrap();
        assert_eq!(value.get("avail").and_then(Literal::word), Some("True"));
        let params = value.get("params").unwrap();
        assert_eq!(params.get("port").and_then(Literal::word), Some("20222"));
        assert_eq!(params.get("extra").and_then(|extra| extra.get("proxy")).and_then(Literal::text), Some("it's"));
        assert_eq!(params.get("long").and_then(Literal::text), Some("one two"));
        assert_eq!(Literal::parse(r"'a\x1b\n\'b'"), Some(Literal::Text("a\u{1b}\n'b".into())));
        assert_eq!(Literal::parse(&"[".repeat(100_000)), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_value_or_none(text in any::<String>(), python in r#"[\[\](){}'",:\\a1x ]{0,60}"#) {
            let _ = Literal::parse(&text);
            let _ = Literal::parse(&python);
        }
    }
}
