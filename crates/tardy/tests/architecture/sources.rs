//! The form of the sources.

use crate::repository::{assert_none, files, files_ending, root, text};
use std::fs;

const LINES_MAX: usize = 800;
/// Names that say nothing about the contents.
const DRAWERS: [&str; 6] = ["common", "shared", "util", "utils", "helper", "helpers"];
/// Beginnings of paths that exist on one machine only. Split so that the test does not contain them itself.
const MACHINE_PATHS: [[&str; 2]; 3] = [["/ho", "me/"], ["/ro", "ot/"], ["/wo", "rk/"]];

#[test]
fn no_source_is_longer_than_800_lines() {
    // The length of a generated list of types depends on its source.
    let written = files_ending(&[".rs", ".ts", ".tsx", ".css"]).filter(|name| !text(name).starts_with("// Generated"));
    let long = written.filter_map(|name| {
        let lines = text(name).lines().count();
        (lines > LINES_MAX).then(|| format!("{name}: {lines} lines"))
    });
    assert_none("these hold more than one idea", long.collect());
}

#[test]
fn every_rust_module_says_what_it_is_for() {
    let silent = files_ending(&[".rs"]).filter(|name| !text(name).starts_with("//! "));
    assert_none("these do not begin with a //! sentence", silent.map(str::to_owned).collect());
}

#[test]
fn nothing_is_named_like_a_drawer() {
    let named = files().iter().filter(|name| {
        let stem = |part: &str| part.split('.').next().unwrap_or_default().to_lowercase();
        name.split('/').any(|part| DRAWERS.contains(&stem(part).as_str()))
    });
    assert_none("these names say nothing", named.cloned().collect());
}

#[test]
fn nothing_names_a_path_of_one_machine() {
    let paths = MACHINE_PATHS.map(|parts| parts.concat());
    let mut found = Vec::new();
    for name in files() {
        let bytes = fs::read(root().join(name)).unwrap();
        for path in &paths {
            if bytes.windows(path.len()).any(|window| window == path.as_bytes()) {
                found.push(format!("{name}: {path}"));
            }
        }
    }
    assert_none("these hold on one machine only", found);
}
