//! `tardy help CODE`: the reference of problems, culprits, rules and keys of a plan, for readers who have only the program.

use crate::terminal::page::Page;
use archive::nearest::nearest;

/// Documents whose headings or first cells of tables are codes.
const DOCUMENTS: [&str; 5] = [
    include_str!("../../../../docs/reference/problems.md"),
    include_str!("../../../../docs/reference/culprits.md"),
    include_str!("../../../../docs/reference/audit-rules.md"),
    include_str!("../../../../docs/reference/readiness-rules.md"),
    include_str!("../../../../docs/reference/plan-keys.md"),
];

/// The entry of a code: of a culprit `timer-slack`, of a problem `archive.cut-off`, of a rule, or of a key of a plan. `None` for
/// another word.
pub fn page_of(code: &str) -> Option<Page> {
    let sections: Vec<Vec<String>> =
        DOCUMENTS.into_iter().filter_map(|document| section(document, code).or_else(|| row(document, code))).collect();
    let mut page = Page::for_stdout();
    for section in &sections {
        page.blank();
        page.heading(code);
        section.iter().for_each(|paragraph| page.wrapped("", paragraph));
    }
    (!sections.is_empty()).then_some(page)
}

/// The nearest code to a mistyped one.
pub fn nearest_code(typed: &str) -> Option<String> {
    let codes: Vec<String> = codes().collect();
    nearest(typed, codes.iter().map(String::as_str)).map(str::to_owned)
}

/// Every code of the reference.
fn codes() -> impl Iterator<Item = String> {
    let lines = DOCUMENTS.into_iter().flat_map(str::lines);
    lines
        .filter_map(|line| heading(line).or_else(|| cells(line).map(|cells| code_of(&cells[0]))))
        .filter(|code| is_code(code))
}

fn is_code(word: &str) -> bool {
    !word.is_empty()
        && word.bytes().all(|letter| letter.is_ascii_lowercase() || letter.is_ascii_digit() || b".-_".contains(&letter))
}

/// The text of a heading below the title.
fn heading(line: &str) -> Option<String> {
    line.strip_prefix("## ").or_else(|| line.strip_prefix("### ")).map(code_of)
}

/// The paragraphs and list items under the heading of a code.
fn section(document: &str, code: &str) -> Option<Vec<String>> {
    let mut lines = document.lines().skip_while(|line| heading(line).as_deref() != Some(code)).skip(1).peekable();
    lines.peek()?;
    let mut paragraphs = vec![String::new()];
    for line in lines.take_while(|line| !line.starts_with('#')).filter(|line| !line.starts_with("<a ")) {
        if line.is_empty() || line.starts_with("- ") {
            paragraphs.push(String::new());
        }
        let paragraph = paragraphs.last_mut().expect("there is always one");
        paragraph.push_str(&plain(line));
        paragraph.push(' ');
    }
    Some(paragraphs.into_iter().map(|paragraph| paragraph.trim().to_owned()).filter(|text| !text.is_empty()).collect())
}

/// The cells of a table's row, with the heads of their columns.
fn row(document: &str, code: &str) -> Option<Vec<String>> {
    let mut heads: Vec<String> = Vec::new();
    for line in document.lines() {
        match cells(line) {
            // The table of contents leads to a section, which has more.
            Some(cells) if code_of(&cells[0]) == code => {
                let with_head = |(cell, head): (&String, &String)| format!("{head}: {cell}");
                return Some(cells.iter().zip(&heads).skip(1).map(with_head).collect());
            }
            Some(_) if !heads.is_empty() => {}
            Some(cells) => heads = cells,
            None if line.starts_with('|') => {}
            None => heads.clear(),
        }
    }
    None
}

fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix("| ")?.strip_suffix(" |")?;
    Some(inner.split(" | ").map(plain).collect())
}

/// The code in a heading or cell.
fn code_of(text: &str) -> String {
    plain(text).replace('`', "")
}

/// Markdown as plain text: links as their text, without the marks of emphasis.
fn plain(text: &str) -> String {
    let mut plain = String::new();
    let mut rest = text;
    while let Some((before, link)) = rest.split_once('[') {
        plain.push_str(before);
        match link.split_once("](").and_then(|(name, target)| Some((name, target.split_once(')')?.1))) {
            Some((name, after)) => {
                plain.push_str(name);
                rest = after;
            }
            None => {
                plain.push('[');
                rest = link;
            }
        }
    }
    plain.push_str(rest);
    plain.replace("**", "").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(code: &str) -> String {
        page_of(code).map_or_else(String::new, |page| page.text().to_owned())
    }

    #[test]
    fn a_problem_a_culprit_and_a_rule_have_their_text() {
        assert!(text("archive.cut-off").contains("Fix: `tardy target collect`"));
        assert!(text("timer-slack").contains("- Fix: ") && text("timer-slack").contains("prctl(PR_SET_TIMERSLACK, 1)"));
        assert!(text("memory-not-locked").lines().count() > 2, "{}", text("memory-not-locked"));
        assert_eq!(text("nonsense"), "");
        assert_eq!(text("problems"), "", "the title of a document is no code");
    }

    #[test]
    fn every_culprit_and_code_of_the_reference_is_found() {
        let codes: Vec<String> = codes().collect();
        assert!(codes.len() > 250, "{}", codes.len());
        for code in codes {
            assert!(page_of(&code).is_some(), "{code}");
        }
    }
}
