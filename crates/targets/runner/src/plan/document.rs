//! Parses a TOML document key by key: every problem is reported with its line, and no key is silently ignored.

use archive::nearest::nearest;
use std::borrow::Cow;
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Something wrong with a plan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// From 1; `None` if it concerns the whole document.
    pub line: Option<usize>,
    pub text: String,
}

/// A value as written, with its line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    pub text: String,
    pub line: usize,
}

/// Problems found so far in a text.
pub struct Problems<'a> {
    text: &'a str,
    found: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub fn of(text: &'a str) -> Self {
        Self { text, found: Vec::new() }
    }

    pub fn line(&self, span: &Range<usize>) -> usize {
        let before = self.text.as_bytes().get(..span.start).unwrap_or(self.text.as_bytes());
        before.iter().filter(|byte| **byte == b'\n').count() + 1
    }

    pub fn add(&mut self, span: &Range<usize>, text: impl Into<String>) {
        let line = self.line(span);
        self.add_at(line, text);
    }

    pub fn add_at(&mut self, line: usize, text: impl Into<String>) {
        self.found.push(Problem { line: Some(line), text: text.into() });
    }

    pub fn add_for_all(&mut self, text: impl Into<String>) {
        self.found.push(Problem { line: None, text: text.into() });
    }

    /// All of them, sorted by line.
    pub fn into_found(mut self) -> Vec<Problem> {
        self.found.sort_by_key(|problem| problem.line);
        self.found
    }
}

/// Parses the text as TOML; a syntax error is a problem of its line.
pub fn parse<'a>(text: &'a str, problems: &mut Problems<'a>) -> Option<Spanned<DeTable<'a>>> {
    match DeTable::parse(text) {
        Ok(table) => Some(table),
        Err(error) => {
            problems.add(&error.span().unwrap_or(0..0), error.message());
            None
        }
    }
}

/// One table of the document. The caller must end with [`Section::finish`].
pub struct Section<'a> {
    /// Its name in the document; empty for the document itself.
    name: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
    known: Vec<&'static str>,
}

impl<'a> Section<'a> {
    pub fn new(name: impl Into<String>, table: &'a DeTable<'a>, span: Range<usize>) -> Self {
        Self { name: name.into(), table, span, known: Vec::new() }
    }

    pub fn span(&self) -> &Range<usize> {
        &self.span
    }

    /// The value of a key; marks the key as known.
    pub fn value(&mut self, key: &'static str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.known.push(key);
        self.table.get(key)
    }

    /// A string, or a number as written.
    pub fn scalar(&mut self, key: &'static str, problems: &mut Problems) -> Option<Written> {
        let value = self.value(key)?;
        let read = scalar(value);
        if read.is_none() {
            problems.add(&value.span(), format!("{key} is {}, not text or a number", kind(value.get_ref())));
        }
        Some(Written { text: read?.into_owned(), line: problems.line(&value.span()) })
    }

    pub fn flag(&mut self, key: &'static str, problems: &mut Problems) -> Option<(bool, usize)> {
        let value = self.value(key)?;
        match value.get_ref().as_bool() {
            Some(flag) => Some((flag, problems.line(&value.span()))),
            None => {
                problems.add(&value.span(), format!("{key} is either true or false, without quotation marks"));
                None
            }
        }
    }

    /// A list of strings; a single string is a list of one.
    pub fn list(&mut self, key: &'static str, problems: &mut Problems) -> Option<Vec<Written>> {
        let value = self.value(key)?;
        let alone = std::slice::from_ref(value);
        let mut list = Vec::new();
        for item in value.get_ref().as_array().map_or(alone, |array| array) {
            match scalar(item) {
                Some(text) => list.push(Written { text: text.into_owned(), line: problems.line(&item.span()) }),
                None => problems.add(&item.span(), format!("{key} is a list of texts, like [\"a\", \"b\"]")),
            }
        }
        Some(list)
    }

    /// A table below this one.
    pub fn section(&mut self, key: &'static str, problems: &mut Problems) -> Option<Section<'a>> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Table(table) => Some(Section::new(self.path(key), table, value.span())),
            other => {
                problems.add(&value.span(), format!("{key} is {}, not a table; write [{key}]", kind(other)));
                None
            }
        }
    }

    /// The entries of a list, of any kind.
    pub fn entries(&mut self, key: &'static str, problems: &mut Problems) -> Option<&'a [Spanned<DeValue<'a>>]> {
        let value = self.value(key)?;
        match value.get_ref() {
            DeValue::Array(array) => Some(array),
            other => {
                problems.add(&value.span(), format!("{key} is {}, not a list", kind(other)));
                None
            }
        }
    }

    /// Keys with their values, for a table with arbitrary keys.
    pub fn free(self, problems: &mut Problems) -> Vec<(String, Written)> {
        let mut pairs = Vec::new();
        for (key, value) in self.table {
            let span = value.span();
            match scalar(value) {
                Some(text) => pairs
                    .push((key.get_ref().to_string(), Written { text: text.into_owned(), line: problems.line(&span) })),
                None => problems.add(&span, format!("{} is {}", key.get_ref(), kind(value.get_ref()))),
            }
        }
        pairs
    }

    /// Reports unknown keys.
    pub fn finish(self, problems: &mut Problems) {
        self.finish_with(problems, |_| None);
    }

    /// Reports unknown keys, with the advice for those that have one.
    pub fn finish_with(self, problems: &mut Problems, advice: impl Fn(&str) -> Option<String>) {
        for key in self.table.keys().filter(|key| !self.known.contains(&key.get_ref().as_ref())) {
            let place = if self.name.is_empty() { "of a plan".into() } else { format!("of [{}]", self.name) };
            let fix =
                advice(key.get_ref()).unwrap_or_else(|| match nearest(key.get_ref(), self.known.iter().copied()) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => format!("its keys are {}", self.known.join(", ")),
                });
            problems.add(&key.span(), format!("`{}` is not a key {place}; {fix}", key.get_ref()));
        }
    }

    fn path(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }
}

fn scalar<'a>(value: &'a Spanned<DeValue<'_>>) -> Option<Cow<'a, str>> {
    match value.get_ref() {
        DeValue::String(text) => Some(Cow::Borrowed(text)),
        DeValue::Integer(number) => Some(Cow::Borrowed(number.as_str())),
        DeValue::Float(number) => Some(Cow::Borrowed(number.as_str())),
        _ => None,
    }
}

/// The kind of a value, in words.
pub fn kind(value: &DeValue) -> &'static str {
    match value {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "a = 1\nb = [\"x\", 2]\nc = true\n\n[d]\ntreshold = 3\n[e]\n\"kernel.x\" = -1\n";

    fn read(text: &str, reading: impl Fn(&mut Section, &mut Problems)) -> Vec<String> {
        let mut problems = Problems::of(text);
        if let Some(table) = parse(text, &mut problems) {
            let mut section = Section::new("", table.get_ref(), table.span());
            reading(&mut section, &mut problems);
            section.finish(&mut problems);
        }
        let reported = |problem: Problem| format!("{}: {}", problem.line.unwrap_or(0), problem.text);
        problems.into_found().into_iter().map(reported).collect()
    }

    #[test]
    fn every_key_is_read_or_reported_with_its_line() {
        let reported = read(TEXT, |section, problems| {
            assert_eq!(section.scalar("a", problems).unwrap(), Written { text: "1".into(), line: 1 });
            let list: Vec<String> =
                section.list("b", problems).unwrap().into_iter().map(|written| written.text).collect();
            assert_eq!(list, ["x", "2"]);
            let mut below = section.section("d", problems).unwrap();
            assert_eq!(below.scalar("threshold", problems), None);
            below.finish(problems);
            let free = section.section("e", problems).unwrap().free(problems);
            assert_eq!(free, [("kernel.x".to_owned(), Written { text: "-1".into(), line: 8 })]);
        });
        let expected = [
            "3: `c` is not a key of a plan; its keys are a, b, d, e",
            "6: `treshold` is not a key of [d]; did you mean `threshold`?",
        ];
        assert_eq!(reported, expected);
    }

    #[test]
    fn values_of_the_wrong_kind_are_reported_with_what_they_should_be() {
        let reported = read(TEXT, |section, problems| {
            assert_eq!(section.scalar("b", problems), None);
            assert_eq!(section.flag("a", problems), None);
            assert!(section.section("c", problems).is_none() && section.entries("d", problems).is_none());
            assert_eq!(section.list("e", problems).unwrap(), []);
        });
        assert_eq!(reported.len(), 5, "{reported:?}");
        assert!(reported[0].starts_with("1: a ") && reported[0].contains("true or false"), "{reported:?}");
        assert!(reported[1].starts_with("2: b ") && reported[1].contains("list"), "{reported:?}");
        assert!(reported[2].contains("write [c]"), "{reported:?}");
    }

    #[test]
    fn invalid_toml_is_reported_with_its_line() {
        let reported = read("a = 1\nb = = 2\n", |_, _| {});
        assert!(reported.len() == 1 && reported[0].starts_with("2: "), "{reported:?}");
        assert_eq!(read("", |_, _| {}), [""; 0]);
    }
}
