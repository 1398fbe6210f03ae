//! Everything the documents link to exists.

use crate::repository::{assert_none, files, files_ending, root, text};
use std::collections::BTreeSet;
use std::path::Path;

/// A document without its code blocks and code spans.
fn prose(document: &str) -> String {
    let mut prose = String::new();
    let mut in_block = false;
    for line in document.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        } else if !in_block {
            let spoken = line.split('`').step_by(2);
            prose.push_str(&spoken.collect::<Vec<_>>().join("``"));
            prose.push('\n');
        }
    }
    prose
}

/// Targets of `[text](target)`.
fn links(prose: &str) -> Vec<&str> {
    prose.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target).collect()
}

/// The anchors of a document's headings, as repository hosts generate them.
fn anchors(document: &str) -> BTreeSet<String> {
    let mut in_block = false;
    let mut anchors = BTreeSet::new();
    for line in document.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        }
        if !in_block && line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|letter| letter.is_alphanumeric() || " -_".contains(*letter));
            anchors.insert(kept.map(|letter| if letter == ' ' { '-' } else { letter }).collect());
        }
    }
    anchors
}

#[test]
fn every_local_link_leads_somewhere() {
    let mut broken = Vec::new();
    for name in files_ending(&[".md"]) {
        let document = text(name);
        let prose = prose(&document);
        // `make docs` makes the report pages, and checks links to them.
        let elsewhere =
            |link: &str| link.contains("://") || link.starts_with("mailto:") || link.contains("report-pages/");
        for link in links(&prose).into_iter().filter(|link| !elsewhere(link)) {
            let (path, anchor) = link.split_once('#').map_or((link, None), |(path, anchor)| (path, Some(anchor)));
            let target = root().join(name).parent().unwrap().join(path);
            let target = if path.is_empty() { root().join(name) } else { target };
            let found = match anchor {
                _ if !target.exists() => false,
                None => true,
                Some(anchor) => std::fs::read_to_string(&target).is_ok_and(|text| anchors(&text).contains(anchor)),
            };
            if !found {
                broken.push(format!("{name}: {link}"));
            }
        }
    }
    assert_none("these links lead nowhere", broken);
}

/// Paths in code spans that begin with a folder of the repository.
#[test]
fn every_path_the_documents_name_exists() {
    let folders: BTreeSet<&str> = files().iter().filter_map(|name| Some(name.split_once('/')?.0)).collect();
    let mut absent = Vec::new();
    for name in files_ending(&[".md"]).filter(|name| !name.starts_with("ui/")) {
        for span in text(name).split('`').skip(1).step_by(2) {
            let whole = span.chars().all(|letter| letter.is_ascii_alphanumeric() || "/._-".contains(letter));
            let ours = span.split_once('/').is_some_and(|(folder, _)| folders.contains(folder));
            if whole && ours && !root().join(span).exists() {
                absent.push(format!("{name}: {span}"));
            }
        }
    }
    assert_none("these paths do not exist", absent);
}

/// Code spans behind `Guarded by`, to the end of the paragraph; a command has a space.
#[test]
fn every_guard_named_in_the_architecture_is_a_test() {
    let sources: String = files_ending(&[".rs"]).map(text).collect();
    let architecture = text("ARCHITECTURE.md");
    let paragraphs = architecture.split("Guarded by").skip(1);
    let paragraphs = paragraphs.filter_map(|rest| rest.split("\n\n").next()?.split("\n* ").next());
    let spans = paragraphs.flat_map(|paragraph| paragraph.split('`').skip(1).step_by(2));
    let guards: Vec<&str> = spans.filter(|span| !span.contains(' ')).collect();
    assert!(guards.len() >= 20, "only {} guards are named", guards.len());
    for guard in guards {
        assert!(sources.contains(&format!("fn {guard}(")), "ARCHITECTURE.md names the guard {guard}, which is no test");
    }
}

/// Names of all tests of the project.
fn tests() -> BTreeSet<String> {
    let mut tests = BTreeSet::new();
    for source in files_ending(&[".rs"]).map(text) {
        let mut is_test = false;
        for line in source.lines().map(str::trim_start) {
            if line == "#[test]" || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some(rest) = line.strip_prefix("async ").unwrap_or(line).strip_prefix("fn ")
                && std::mem::take(&mut is_test)
            {
                tests.extend(rest.split('(').next().map(str::to_owned));
            }
        }
    }
    tests
}

#[test]
fn every_row_of_the_security_page_has_tests() {
    let page = text("docs/explanation/security.md");
    let tests = tests();
    let (mut missing, mut rows) = (Vec::new(), BTreeSet::new());
    // The tables of doors have three columns: row, what, test.
    for line in page.lines().filter(|line| line.starts_with('|') && !line.starts_with("|--")) {
        let [row, what, named] = line.trim_matches('|').split(" | ").map(str::trim).collect::<Vec<_>>()[..] else {
            continue;
        };
        let is_door = row == "-" || row.starts_with(|letter: char| letter.is_ascii_digit()) && row.len() <= 5;
        let named: Vec<&str> = named.split('`').skip(1).step_by(2).collect();
        if !is_door || what.is_empty() {
            continue;
        }
        if named.is_empty() {
            missing.push(format!("row {row} has no test: {what}"));
        }
        missing.extend(named.iter().filter(|name| !tests.contains(**name)).map(|name| format!("{name} is no test")));
        rows.extend(row.split(", ").map(str::to_owned));
    }
    assert_none("docs/explanation/security.md names tests that do not exist", missing);
    let audited = (1..=18).map(|row| row.to_string()).chain(["2b", "9b", "11b"].map(str::to_owned));
    assert_none("these rows of the audit are absent", audited.filter(|row| !rows.contains(row)).collect());
}

#[test]
fn summary_of_the_book_lists_every_page() {
    let summary = text("docs/SUMMARY.md");
    let listed: BTreeSet<String> = links(&summary).into_iter().map(|link| format!("docs/{link}")).collect();
    let pages = files_ending(&[".md"]).filter(|name| name.starts_with("docs/") && *name != "docs/SUMMARY.md");
    let absent = pages.filter(|name| !listed.contains(*name)).map(str::to_owned);
    assert_none("docs/SUMMARY.md does not list these", absent.collect());
}

/// The document behind the fields that agents read first.
fn behind_front_matter(document: &str) -> &str {
    let parts = document.strip_prefix("---\n").and_then(|rest| rest.split_once("\n---\n\n"));
    parts.map_or(document, |(_, rest)| rest)
}

#[test]
fn every_document_has_one_title() {
    // Each part of the book is a title in its table of contents.
    for name in files_ending(&[".md"]).filter(|name| *name != "docs/SUMMARY.md") {
        let whole = text(name);
        let document = behind_front_matter(&whole);
        assert!(document.starts_with("# "), "{name} does not begin with a title");
        let titles = prose(document).lines().filter(|line| line.starts_with("# ")).count();
        assert_eq!(titles, 1, "{name} has {titles} titles");
    }
}

#[test]
fn every_document_can_be_reached_from_the_readme() {
    let mut reached = BTreeSet::from(["README.md".to_owned()]);
    let mut waiting = vec!["README.md".to_owned()];
    while let Some(name) = waiting.pop() {
        let folder = Path::new(&name).parent().unwrap().to_owned();
        for link in links(&prose(&text(&name))) {
            let path = link.split('#').next().unwrap_or_default();
            let Ok(target) = root().join(&folder).join(path).canonicalize() else { continue };
            let Some(target) = target.strip_prefix(root()).ok().and_then(Path::to_str) else { continue };
            if target.ends_with(".md") && reached.insert(target.to_owned()) {
                waiting.push(target.to_owned());
            }
        }
    }
    let lost = files_ending(&[".md"]).filter(|name| !reached.contains(*name)).map(str::to_owned);
    assert_none("no way leads from the README to these", lost.collect());
}
