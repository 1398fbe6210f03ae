//! docs/how-to/publishing.md has the rules as they are. `UPDATE_GOLDEN=1 cargo test -p publication --test documented` writes them.

use fixtures::repository::repository_path;
use publication::rules::{RULES, UNNAMED};
use std::fs;

const HEAD: &str = "| values | what happens | why |\n|---|---|---|\n";

fn table() -> String {
    let rows = RULES.iter().map(|rule| format!("| {} | {} | {} |\n", rule.kind, rule.action.words(), rule.reason));
    rows.chain([format!("| {UNNAMED} | emptied | whatever a later version or a target adds |\n")]).collect()
}

#[test]
fn the_documented_rules_are_those_of_the_code() {
    let path = repository_path("docs/how-to/publishing.md");
    let text = fs::read_to_string(&path).unwrap();
    let (before, rest) = text.split_once(HEAD).expect("the page has the table");
    let (rows, after) = rest.split_once("\n\n").expect("text follows the table");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        return fs::write(path, format!("{before}{HEAD}{}\n{after}", table())).unwrap();
    }
    assert_eq!(format!("{rows}\n"), table());
}
