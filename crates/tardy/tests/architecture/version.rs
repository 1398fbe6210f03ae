//! Every package names the version of the programs.

use crate::repository::{files, text};

/// The version that follows in a text: digits with two full stops.
fn versions(line: &str) -> Vec<&str> {
    let words = line.split(|letter: char| !(letter.is_ascii_digit() || letter == '.'));
    let is_version = |word: &&str| word.split('.').filter(|part| !part.is_empty()).count() == 3;
    words.map(|word| word.trim_matches('.')).filter(is_version).collect()
}

#[test]
fn packages_name_the_version_of_the_programs() {
    let own = env!("CARGO_PKG_VERSION");
    let mut seen = 0;
    for file in files().iter().filter(|file| file.starts_with("packaging/") && !file.ends_with(".inc")) {
        if let Some((_, version)) = file.strip_suffix(".bb").and_then(|name| name.rsplit_once('_')) {
            assert_eq!(version, own, "{file}");
            seen += 1;
        }
        let of_us = ["tardy-0", "tardy-1", "METER_VERSION = ", "arg VERSION="];
        for line in text(file).lines().filter(|line| of_us.iter().any(|mark| line.contains(mark))) {
            for version in versions(line) {
                assert_eq!(version, own, "{file}: {line}");
                seen += 1;
            }
        }
    }
    assert!(seen >= 6, "only {seen} places name a version");
}

#[test]
fn a_version_is_found_wherever_it_stands() {
    assert_eq!(versions("TARDY_METER_VERSION = 0.1.0"), ["0.1.0"]);
    assert_eq!(versions("dist/release/tardy-0.1.0.tar.gz, the sources # 6.1"), ["0.1.0"]);
    assert!(versions("Debian 12, kernel 6.1, 1.2 MB").is_empty());
}
