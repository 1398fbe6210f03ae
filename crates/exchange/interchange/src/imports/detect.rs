//! Detects the format of a file by its contents alone, and what a file in an unknown format looks like.

use super::lack::Foreign;
use super::number_row::row;
use super::{FORMATS, ImportFormat};

/// Bytes examined; every format can be recognised earlier.
const HEAD_BYTES: usize = 64 << 10;

/// The beginning of a file.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// Without white space before it. Its last line may be truncated.
    pub text: &'a str,
    /// Whether the file is binary data, as far as its beginning shows.
    pub has_nul: bool,
}

impl Head<'_> {
    pub fn is_json(&self) -> bool {
        self.text.starts_with('{')
    }

    pub fn is_xml(&self) -> bool {
        self.text.starts_with('<')
    }

    /// Whether a JSON text has this key somewhere.
    pub fn has_key(&self, key: &str) -> bool {
        self.is_json() && self.text.contains(&format!("\"{key}\""))
    }

    fn looks_like(&self) -> Foreign {
        if self.text.is_empty() {
            return Foreign::Empty;
        }
        if self.is_json() {
            return Foreign::OtherJson;
        }
        if self.is_xml() {
            let is_page = self.text.to_ascii_lowercase().contains("<html");
            return if is_page { Foreign::WebPage } else { Foreign::OtherXml };
        }
        if self.has_nul {
            return Foreign::Binary;
        }
        let first = self.text.lines().next().unwrap_or_default();
        if row(first).is_some() {
            return Foreign::Numbers;
        }
        Foreign::Text { start: first.chars().take(40).collect() }
    }
}

/// The format, or what the file looks like instead.
pub fn format_of(bytes: &[u8]) -> Result<&'static dyn ImportFormat, Foreign> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let text = String::from_utf8_lossy(head);
    let head = Head { text: text.trim_start_matches('\u{feff}').trim_start(), has_nul: head.contains(&0) };
    FORMATS.iter().copied().find(|format| format.detects(&head)).ok_or_else(|| head.looks_like())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_files_are_named_for_what_they_look_like() {
        let seen = |text: &str| format_of(text.as_bytes()).unwrap_err();
        assert_eq!(seen(" \n"), Foreign::Empty);
        assert_eq!(seen("{\"a\": 1}"), Foreign::OtherJson);
        assert_eq!(seen("<!DOCTYPE html><html></html>"), Foreign::WebPage);
        assert_eq!(seen("<junit/>"), Foreign::OtherXml);
        assert_eq!(seen("\0\u{1}ELF"), Foreign::Binary);
        assert_eq!(seen("hello there\nmore"), Foreign::Text { start: "hello there".into() });
    }

    #[test]
    fn numbers_in_columns_are_not_taken_for_a_histogram() {
        for text in ["21 30000\n22 1\n", "0 276489 0\n1 318327 35487\n", "1733000000 21\n1733000001 22\n"] {
            assert_eq!(format_of(text.as_bytes()), Err(Foreign::Numbers), "{text}");
        }
    }

    #[test]
    fn contents_decide_and_not_names() {
        let seen = |text: &str| format_of(text.as_bytes()).unwrap().name();
        assert_eq!(seen("{\n \"file_version\": 1,"), "rt-tests-json");
        assert_eq!(seen("{ \"cpu\": {\"0\": {\"histogram\": {"), "jitterdebugger");
        assert_eq!(seen("<?xml version=\"1.0\"?>\n<rteval version=\"3\">"), "rteval");
        assert_eq!(seen("# Histogram\n000001 000002\n"), "cyclictest-text");
        assert_eq!(
            seen("T: 0 ( 3451) P:80 I:200 C:   2000 Min:     11 Act:   13 Avg:   16 Max:    2904"),
            "cyclictest-text"
        );
        assert_eq!(seen("000001 000002\t000003\n"), "histogram-columns");
    }
}
