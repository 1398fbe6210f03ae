//! The drawing of the crates in ARCHITECTURE.md against the Cargo files.

use crate::repository::{code_block, of_crate, packages, text};
use std::collections::{BTreeMap, BTreeSet};

type Arrows = BTreeMap<String, BTreeSet<String>>;

/// Lines like `meter -> archive ftrace`.
fn drawn() -> Arrows {
    let arrows = code_block(&text("ARCHITECTURE.md"), "arrows").into_iter().map(|line| {
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

#[test]
fn the_drawn_arrows_are_the_cargo_arrows() {
    assert_eq!(drawn(), cargo(), "left: drawn in ARCHITECTURE.md, right: found in the Cargo files");
}

#[test]
fn the_code_map_has_a_chapter_for_every_crate() {
    let architecture = text("ARCHITECTURE.md");
    for name in cargo().keys() {
        let folder = of_crate(name).trim_end_matches("/src/").to_owned();
        assert!(architecture.contains(&format!("\n### `{folder}`")), "ARCHITECTURE.md says nothing of {name}");
    }
}
