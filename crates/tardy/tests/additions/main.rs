//! Additions stay cheap: each patch in this folder adds one small, complete thing of its kind by as few files as CONTRIBUTING.md says.
//!
//! `make test-additions` also applies each patch to a copy of git's index, and compiles it there.

mod copy;

use copy::Copy;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// The block `additions` of CONTRIBUTING.md: a kind, and the most files that one of it takes.
fn files_max() -> BTreeMap<String, usize> {
    let document = fs::read_to_string(root().join("CONTRIBUTING.md")).unwrap();
    let block = document.split_once("```additions\n").and_then(|(_, rest)| rest.split_once("```"));
    let lines = block.expect("CONTRIBUTING.md has the block `additions`").0.lines();
    let kind = |line: &str| {
        let (kind, files) = line.split_once(' ').expect("a line has a kind and a number");
        (kind.to_owned(), files.trim().parse().expect("it ends with a number"))
    };
    lines.map(kind).collect()
}

/// The patches by kind.
fn patches() -> BTreeMap<String, PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/additions");
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let patches = paths.filter(|path| path.extension().is_some_and(|ending| ending == "patch"));
    patches.map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), path)).collect()
}

/// Runs git in the repository.
fn git(words: &[&str]) -> Output {
    let command = [&["-c", "safe.directory=*"], words].concat();
    Command::new("git").args(command).current_dir(root()).output().expect("git runs")
}

/// Standard error of a command that failed.
fn failure(output: &Output) -> Option<String> {
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// The files that a patch adds or changes.
fn files_of(patch: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(patch).unwrap();
    text.lines().filter_map(|line| line.strip_prefix("+++ b/")).map(str::to_owned).collect()
}

#[test]
fn every_kind_of_addition_has_a_patch_and_a_number_of_files() {
    let (documented, kept) = (files_max(), patches());
    let (documented, kept): (Vec<&String>, Vec<&String>) = (documented.keys().collect(), kept.keys().collect());
    assert_eq!(documented, kept, "left: in CONTRIBUTING.md, right: patches");
}

#[test]
fn an_addition_touches_few_files() {
    let files_max = files_max();
    for (kind, patch) in patches() {
        let files = files_of(&patch);
        assert!((1..=files_max[&kind]).contains(&files.len()), "{kind} touches {files:?}");
    }
}

#[test]
fn every_addition_applies_to_this_tree() {
    for (kind, patch) in patches() {
        let refused = failure(&git(&["apply", "--check", &patch.to_string_lossy()]));
        assert_eq!(refused, None, "{kind}: write its patch again, in a copy of the tree");
    }
}

/// Where a patch needs a further file, the compiler names it here.
#[test]
#[ignore = "compiles the workspace: make test-additions"]
fn every_addition_compiles_without_a_warning() {
    let copy = Copy::of_the_index();
    assert_eq!(copy.complaint(), None, "the tree without an addition");
    for (kind, patch) in patches() {
        copy.apply(&patch, &[]);
        let complaint = copy.complaint();
        copy.apply(&patch, &["--reverse"]);
        assert_eq!(complaint, None, "{kind}");
        println!("{kind:<12} {} files", files_of(&patch).len());
    }
}
