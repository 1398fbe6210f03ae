//! Files of one crate use each other in one direction. A module and its own parts may name each other.

mod modules;
mod paths;

use crate::repository::{of_crate, packages};
use modules::Modules;
use std::collections::{BTreeMap, BTreeSet};

type Arrow = (&'static str, &'static str);

/// The files that reach each other, in groups.
fn circles(arrows: &BTreeSet<Arrow>) -> Vec<BTreeSet<&'static str>> {
    let files: BTreeSet<&str> = arrows.iter().flat_map(|(user, used)| [*user, *used]).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        files.iter().map(|file| (*file, reached_from(file, arrows))).collect();
    let circle = |file: &&'static str| {
        let mutual = reached[file].iter().filter(|other| reached[*other].contains(file)).copied();
        Some(mutual.collect::<BTreeSet<&str>>()).filter(|mutual| !mutual.is_empty())
    };
    let found: BTreeSet<BTreeSet<&str>> = files.iter().filter_map(circle).collect();
    found.into_iter().collect()
}

/// The files that lie on paths of arrows from this one.
fn reached_from(file: &'static str, arrows: &BTreeSet<Arrow>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut open = vec![file];
    while let Some(user) = open.pop() {
        let used = arrows.range((user, "")..).take_while(|(other, _)| *other == user).map(|(_, used)| *used);
        open.extend(used.filter(|used| found.insert(*used)));
    }
    found
}

#[test]
fn files_of_a_crate_use_each_other_in_one_direction() {
    let mut wrong = Vec::new();
    for package in packages("Cargo.toml") {
        let folder = of_crate(package["name"].as_str().unwrap());
        let arrows = Modules::of(&folder).arrows();
        for circle in circles(&arrows) {
            let inside = arrows.iter().filter(|(user, used)| circle.contains(user) && circle.contains(used));
            let inside: Vec<String> = inside.map(|(user, used)| format!("{user} -> {used}")).collect();
            wrong.push(format!("{folder}: {} files\n    {}", circle.len(), inside.join("\n    ")));
        }
    }
    crate::repository::assert_none("these files use each other in a circle", wrong);
}
