//! The compiler that the meter's crates ask for: distributions for boards have older ones than the machines of developers.

use crate::arrows::cargo;
use crate::repository::{packages, text};
use std::collections::BTreeSet;

/// The crates of which the meter is built.
fn of_the_meter() -> BTreeSet<String> {
    let arrows = cargo();
    let mut found = BTreeSet::new();
    let mut next = vec!["tardy-meter".to_owned()];
    while let Some(name) = next.pop() {
        next.extend(arrows[&name].iter().cloned());
        found.insert(name);
    }
    found
}

#[test]
fn crates_of_the_meter_ask_for_the_compiler_that_it_is_checked_with() {
    let makefile = text("Makefile");
    let checked = makefile.lines().find_map(|line| line.strip_prefix("METER_RUST := ")).expect("the Makefile names it");
    let of_the_meter = of_the_meter();
    assert!(of_the_meter.contains("archive"), "{of_the_meter:?}");
    for package in packages("Cargo.toml") {
        let name = package["name"].as_str().unwrap();
        if of_the_meter.contains(name) {
            assert_eq!(package["rust_version"], checked, "{name}");
        }
    }
}
