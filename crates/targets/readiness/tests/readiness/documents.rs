//! The list of rules and the checklist for kernels are generated from the rules themselves.

use fixtures::repository::repository_path;
use readiness::{checklist_text, rules};
use std::fmt::Write;

const INTRODUCTION: &str = "\
# The rules of `tardy check`

<!-- Written from crates/targets/readiness/src by UPDATE_GOLDEN=1 cargo test -p readiness --test readiness; do not edit. -->

Every rule of `tardy check`, with its reason. [Readiness](../how-to/readiness.md) shows how to use it. The identifier of a rule never
changes. The severity holds for most of its findings; a finding can be milder or worse, depending on the machine.
";

fn kept(path: &str, text: &str) {
    let path = repository_path(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    let stale = format!(
        "{} is stale; UPDATE_GOLDEN=1 cargo test -p readiness --test readiness writes it again",
        path.display()
    );
    assert!(there == text, "{stale}");
}

#[test]
fn the_document_lists_every_rule() {
    let mut text = INTRODUCTION.to_owned();
    for group in rules() {
        let _ = write!(
            text,
            "\n## {}\n\n| rule | finds that | because | severity | source |\n|---|---|---|---|---|\n",
            group.title
        );
        for rule in group.rules {
            let source = rule.source.replace('|', "\\|");
            let _ = writeln!(
                text,
                "| `{}` | {} | {} | {} | *{source}* |",
                rule.id,
                rule.title,
                rule.reason,
                rule.severity.words()
            );
        }
    }
    kept("docs/reference/readiness-rules.md", &text);
}

#[test]
fn the_checklist_that_is_shipped_is_that_of_the_rules() {
    kept("kernels/preempt-rt.checklist", &checklist_text());
}

#[test]
fn every_rule_says_everything_once() {
    let groups = rules();
    let rules: Vec<_> = groups.iter().flat_map(|group| group.rules).collect();
    let mut ids: Vec<&str> = rules.iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "two rules have one identifier");
    for rule in rules {
        let words = [rule.title, rule.reason, rule.source];
        assert!(
            words.iter().all(|words| !words.is_empty() && !words.ends_with('.')),
            "{}: empty, or ends with a dot",
            rule.id
        );
        let plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "-.".contains(letter);
        assert!(rule.id.chars().all(plain) && rule.id.contains('.'), "{}", rule.id);
    }
}
