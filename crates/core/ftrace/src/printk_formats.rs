//! Constant strings of the kernel by address, from `printk_formats`.

use std::collections::HashMap;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrintkFormats {
    texts: HashMap<u64, String>,
}

impl PrintkFormats {
    /// Parses lines of `0xADDRESS : "TEXT"`; others are ignored. The escapes `\n`, `\t`, `\"` and `\\` are resolved.
    pub fn parse(text: &str) -> PrintkFormats {
        let line = |line: &str| {
            let (address, text) = line.split_once(':')?;
            let address = address.trim();
            let digits = address.strip_prefix("0x").unwrap_or(address);
            let text = text.trim().strip_prefix('"')?.strip_suffix('"')?;
            Some((u64::from_str_radix(digits, 16).ok()?, unescape(text)))
        };
        PrintkFormats { texts: text.lines().filter_map(line).collect() }
    }

    pub fn text(&self, address: u64) -> Option<&str> {
        self.texts.get(&address).map(String::as_str)
    }
}

/// Resolves the escapes of C text; unknown ones stay unchanged.
pub(crate) fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            plain.push(character);
            continue;
        }
        match characters.next() {
            Some('n') => plain.push('\n'),
            Some('t') => plain.push('\t'),
            Some(quoted @ ('"' | '\\' | '\'')) => plain.push(quoted),
            Some(other) => plain.extend(['\\', other]),
            None => plain.push('\\'),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_text_by_address() {
        let formats =
            PrintkFormats::parse("0xffffffff8281942f : \"thaw_processes\"\n0x10 : \"a \\\"b\\\"\\n\"\nx\n0x1 : \n");
        assert_eq!(formats.text(0xffff_ffff_8281_942f), Some("thaw_processes"));
        assert_eq!(formats.text(0x10), Some("a \"b\"\n"));
        assert_eq!(formats.text(1), None);
    }
}
