//! The drawings of the crates and their storeys in ARCHITECTURE.md against the Cargo files.

use crate::repository::{assert_none, code_blocks, of_crate, packages, text};
use std::collections::{BTreeMap, BTreeSet};

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Lines like `meter -> archive ftrace` in all blocks of this language.
fn drawn(language: &str) -> Arrows {
    let arrows = code_blocks(&text("ARCHITECTURE.md"), language).into_iter().map(|line| {
        let (from, to) = line.split_once("->").unwrap_or_else(|| panic!("{line:?} has no arrow"));
        (from.trim().to_owned(), to.split_whitespace().map(str::to_owned).collect())
    });
    arrows.collect()
}

/// Dependencies between the members of the built workspace, without those of tests.
pub fn cargo() -> Arrows {
    let packages = packages("Cargo.toml");
    let name = |package: &serde_json::Value| package["name"].as_str().unwrap().to_owned();
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    let arrows = packages.iter().map(|package| {
        let built = package["dependencies"].as_array().unwrap().iter().filter(|dependency| dependency["kind"] != "dev");
        (name(package), built.map(name).filter(|name| members.contains(name)).collect())
    });
    arrows.collect()
}

/// The folder of a crate below `crates/`: `core` for `crates/core/explain`.
fn storey(name: &str) -> String {
    of_crate(name).split('/').nth(1).expect("a crate is in a storey").to_owned()
}

#[test]
fn the_drawn_arrows_are_the_cargo_arrows() {
    assert_eq!(drawn("arrows"), cargo(), "left: drawn in ARCHITECTURE.md, right: found in the Cargo files");
}

#[test]
fn crates_depend_on_storeys_below() {
    let below = drawn("storeys");
    let storeys: BTreeMap<String, String> = cargo().keys().map(|name| (name.clone(), storey(name))).collect();
    let mut wrong = Vec::new();
    for (user, uses) in cargo() {
        let from = &storeys[&user];
        let allowed = below.get(from).unwrap_or_else(|| panic!("ARCHITECTURE.md does not draw the storey {from}"));
        for used in uses.iter().filter(|used| storeys[*used] != *from && !allowed.contains(&storeys[*used])) {
            wrong.push(format!("{user} ({from}) uses {used} ({})", storeys[used]));
        }
    }
    assert_none("these use a storey that is not below theirs", wrong);
    let used: BTreeSet<&String> = storeys.values().collect();
    assert_eq!(below.keys().collect::<BTreeSet<_>>(), used, "left: drawn, right: folders");
}

#[test]
fn every_crate_is_described_in_its_storey() {
    let architecture = text("ARCHITECTURE.md");
    let chapters = architecture.split("\n### ").skip(1);
    let chapters: BTreeMap<&str, &str> = chapters.filter_map(|chapter| chapter.split_once(':')).collect();
    let missing = cargo().into_keys().filter(|name| {
        let chapter = chapters.get(storey(name).as_str()).copied().unwrap_or_default();
        !chapter.split("```").step_by(2).any(|prose| prose.contains(&format!("`{name}`")))
    });
    assert_none("ARCHITECTURE.md says nothing of", missing.collect());
}
