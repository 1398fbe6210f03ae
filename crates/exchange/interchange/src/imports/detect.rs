//! Detects the format of a file by its contents alone, and what a file in an unknown format looks like.

use super::Format;
use super::lack::Foreign;

/// Bytes examined; every format can be recognised earlier.
const HEAD_BYTES: usize = 64 << 10;

/// The format, or what the file looks like instead.
pub fn format_of(bytes: &[u8]) -> Result<Format, Foreign> {
    let head = &bytes[..bytes.len().min(HEAD_BYTES)];
    let text = String::from_utf8_lossy(head);
    let text = text.trim_start_matches('\u{feff}').trim_start();
    if text.is_empty() {
        return Err(Foreign::Empty);
    }
    match text.as_bytes()[0] {
        b'{' => json(text),
        b'<' if text.contains("<rteval") => Ok(Format::Rteval),
        b'<' if text.to_ascii_lowercase().contains("<html") => Err(Foreign::WebPage),
        b'<' => Err(Foreign::OtherXml),
        _ => lines(text, head),
    }
}

fn json(text: &str) -> Result<Format, Foreign> {
    let has = |key: &str| text.contains(&format!("\"{key}\""));
    if has("rt_test_version:") || has("file_version") || has("num_threads") || has("thread") {
        Ok(Format::RtTestsJson)
    } else if has("cpu") && (has("count") || has("histogram")) {
        Ok(Format::Jitterdebugger)
    } else {
        Err(Foreign::OtherJson)
    }
}

fn lines(text: &str, head: &[u8]) -> Result<Format, Foreign> {
    const SIGNS: [&str; 4] = ["# Histogram", "# /dev/cpu_dma_latency", "# Min Latencies:", "# Max Latencies:"];
    let sign = |line: &str| SIGNS.iter().any(|sign| line.starts_with(sign));
    if text.lines().any(|line| sign(line) || super::cyclictest_lines::thread_line(line).is_some()) {
        return Ok(Format::CyclictestText);
    }
    if head.contains(&0) {
        return Err(Foreign::Binary);
    }
    let mut rows = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')).peekable();
    // The last row of the head may be truncated.
    if rows.peek().is_some_and(|row| super::histogram_columns::row(row).is_some()) {
        return Ok(Format::HistogramColumns);
    }
    let first = text.lines().next().unwrap_or_default();
    Err(Foreign::Text { start: first.chars().take(40).collect() })
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
    fn names_do_not_matter_contents_do() {
        let seen = |text: &str| format_of(text.as_bytes()).unwrap();
        assert_eq!(seen("{\n \"file_version\": 1,"), Format::RtTestsJson);
        assert_eq!(seen("{ \"cpu\": {\"0\": {\"histogram\": {"), Format::Jitterdebugger);
        assert_eq!(seen("<?xml version=\"1.0\"?>\n<rteval version=\"3\">"), Format::Rteval);
        assert_eq!(seen("# Histogram\n000001 000002\n"), Format::CyclictestText);
        assert_eq!(
            seen("T: 0 ( 3451) P:80 I:200 C:   2000 Min:     11 Act:   13 Avg:   16 Max:    2904"),
            Format::CyclictestText
        );
        assert_eq!(seen("000001 000002\t000003\n"), Format::HistogramColumns);
    }
}
