//! docs/how-to/publishing.md has the rules as they are.

use fixtures::repository::repository_path;
use publication::rules::{Action, RULES};
use std::fs;

#[test]
fn the_documented_rules_are_those_of_the_code() {
    let path = repository_path("docs/how-to/publishing.md");
    let text = fs::read_to_string(path).unwrap();
    let rows: Vec<&str> = text
        .lines()
        .skip_while(|line| *line != "|---|---|---|")
        .skip(1)
        .take_while(|line| line.starts_with('|'))
        .collect();
    let mut expected: Vec<String> =
        RULES.iter().map(|rule| format!("| {} | {} | {} |", rule.kind, rule.action.words(), rule.reason)).collect();
    let last = "addresses, paths, functions of drivers that are not in Linux: whatever else a text has";
    expected.push(format!("| unknown words in texts | {} | {last} |", Action::Text.words()));
    assert_eq!(rows, expected);
}
