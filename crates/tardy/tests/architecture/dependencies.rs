//! docs/reference/dependencies.md against the dependencies of the packages.

use crate::repository::{files_ending, packages, text};
use serde_json::Value;
use std::collections::BTreeSet;

/// Names in the first column of the tables.
fn documented() -> BTreeSet<String> {
    let document = text("docs/reference/dependencies.md");
    let rows = document.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let mut names = BTreeSet::new();
    for (name, rest) in rows {
        let reasons: Vec<&str> = rest.split('|').map(str::trim).filter(|cell| !cell.is_empty()).collect();
        assert_eq!(reasons.len(), 2, "{name} needs a purpose and a reason");
        assert!(names.insert(name.to_owned()), "{name} has two lines");
    }
    names
}

fn asked_for() -> BTreeSet<String> {
    let manifests =
        files_ending(&["Cargo.toml"]).filter(|name| name.starts_with("crates/") || name.starts_with("fuzz/"));
    let mut names = BTreeSet::new();
    for manifest in manifests {
        for package in packages(manifest) {
            let dependencies = package["dependencies"].as_array().unwrap().iter();
            let foreign = dependencies.filter(|dependency| dependency["path"].is_null());
            names.extend(foreign.map(|dependency| dependency["name"].as_str().unwrap().to_owned()));
        }
    }
    let page: Value = serde_json::from_str(&text("ui/package.json")).unwrap();
    for kind in ["dependencies", "devDependencies"] {
        names.extend(page[kind].as_object().into_iter().flat_map(|packages| packages.keys().cloned()));
    }
    names
}

#[test]
fn every_dependency_has_a_reason_and_every_reason_a_dependency() {
    let (documented, asked_for) = (documented(), asked_for());
    let without: Vec<&String> = asked_for.difference(&documented).collect();
    let left_over: Vec<&String> = documented.difference(&asked_for).collect();
    assert!(without.is_empty(), "docs/reference/dependencies.md has no line for {without:?}");
    assert!(left_over.is_empty(), "docs/reference/dependencies.md explains what nothing uses: {left_over:?}");
}
