//! The files of the repository and its cargo metadata.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// Root of the repository.
pub fn root() -> &'static Path {
    static ROOT: LazyLock<PathBuf> =
        LazyLock::new(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap());
    &ROOT
}

/// Every file that git tracks or that is neither tracked nor ignored, relative to the root.
pub fn files() -> &'static [String] {
    static FILES: LazyLock<Vec<String>> = LazyLock::new(|| {
        let listed = Command::new("git")
            .args(["-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root())
            .output()
            .expect("git lists the files");
        assert!(listed.status.success(), "{}", String::from_utf8_lossy(&listed.stderr));
        let listed = String::from_utf8(listed.stdout).expect("file names are UTF-8");
        let names = listed.split('\0').filter(|name| root().join(name).is_file()).map(str::to_owned);
        let names: Vec<String> = names.collect();
        assert!(names.iter().any(|name| name == "Cargo.toml"), "{names:?}");
        names
    });
    &FILES
}

/// Files whose names end in one of `endings`.
pub fn files_ending(endings: &[&str]) -> impl Iterator<Item = &'static str> {
    files().iter().map(String::as_str).filter(move |name| endings.iter().any(|ending| name.ends_with(ending)))
}

/// Text of a file, relative to the root.
pub fn text(name: &str) -> String {
    fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Folder of a crate's sources, relative to the root: `crates/core/explain/src/`.
pub fn of_crate(name: &str) -> String {
    static MEMBERS: LazyLock<Vec<Value>> = LazyLock::new(|| packages("Cargo.toml"));
    let package =
        MEMBERS.iter().find(|package| package["name"] == name).unwrap_or_else(|| panic!("there is no crate {name}"));
    let manifest = PathBuf::from(package["manifest_path"].as_str().expect("a package has a manifest"));
    let folder =
        manifest.parent().and_then(|folder| folder.strip_prefix(root()).ok()).expect("it is in the repository");
    format!("{}/src/", folder.display())
}

/// Lines inside the code blocks of a document that are marked with `language`.
pub fn code_blocks(document: &str, language: &str) -> Vec<String> {
    let mark = format!("```{language}");
    let mut inside = false;
    let mut lines = Vec::new();
    for line in document.lines() {
        match inside {
            true if line == "```" => inside = false,
            true => lines.push(line.to_owned()),
            false => inside = line == mark,
        }
    }
    assert!(!lines.is_empty(), "there is no block {mark}");
    lines
}

/// The packages of a manifest: itself, or the members of its workspace.
pub fn packages(manifest: &str) -> Vec<Value> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1", "--manifest-path", manifest])
        .current_dir(root())
        .output()
        .expect("cargo describes the packages");
    assert!(output.status.success(), "{manifest}: {}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    metadata["packages"].as_array().unwrap().clone()
}

/// Fails with a list unless it is empty.
#[track_caller]
pub fn assert_none(what: &str, offenders: Vec<String>) {
    assert!(offenders.is_empty(), "{what}:\n  {}", offenders.join("\n  "));
}
