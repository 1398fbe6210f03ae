//! `docs/reference/audit-rules.md` against the rules. `UPDATE_GOLDEN=1 cargo test -p audit --test documented` writes it.

use audit::rules::RULES;
use fixtures::repository::repository_path;
use std::fs;

const HEAD: &str = "\
# Audit rules

Every habit that `tardy audit` looks for in the loop of a thread, by the name that `--deny` and `--allow` take.
[Audit a program](../how-to/auditing.md) says what a loop is. This page is generated from the rules.
";

fn document() -> String {
    let mut document = HEAD.to_owned();
    for rule in RULES {
        let (name, title) = (rule.name, rule.title);
        document.push_str(&format!("\n## {name}\n\nA thread {title}.\n\n{}\n\nInstead: {}\n", rule.why, rule.instead));
    }
    document
}

#[test]
fn the_page_of_rules_is_that_of_the_rules() {
    let path = repository_path("docs/reference/audit-rules.md");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, document()).unwrap();
    }
    let written = fs::read_to_string(&path).unwrap_or_default();
    assert!(written == document(), "docs/reference/audit-rules.md is stale: UPDATE_GOLDEN=1 writes it");
}
