//! Every example: of `--help` of each verb, of the README, and of the documents.

use crate::desk::Desk;
use fixtures::repository::repository_path;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The lines, each once, without prompts and remarks.
pub fn examples(desk: &Desk) -> BTreeSet<String> {
    let mut found: BTreeSet<String> = pages().iter().flat_map(|page| in_page(page)).collect();
    let verbs = desk.shell("tardy list verbs --json").json();
    for verb in verbs["verbs"].as_array().unwrap() {
        let name = verb["name"].as_str().unwrap();
        let help = desk.shell(&format!("tardy {name} --help")).stdout.replace("\\\n", " ");
        found.extend(help.lines().filter_map(command));
    }
    found
}

/// The README and every document, except the tutorial, which has a test of its own, and the decisions, which show no
/// commands.
fn pages() -> Vec<PathBuf> {
    let folders = ["docs/how-to", "docs/how-to/for", "docs/reference", "docs/explanation"];
    let entries = folders.iter().flat_map(|folder| fs::read_dir(repository_path(folder)).unwrap().flatten());
    let pages = entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "md"));
    pages.chain([repository_path("README.md")]).collect()
}

/// Kinds of TOML files in documents, shown by a key that only files of the kind have.
#[derive(Clone, Copy, PartialEq)]
pub enum TomlFile {
    Plan,
    Target,
    /// The threads of the execution map.
    Threads,
    /// The chains of `explain --chain`.
    Chains,
    /// Where a lab sends messages; the crate `alerts` reads the one of the documents.
    Alerts,
}

impl TomlFile {
    fn of(text: &str) -> Self {
        let keys = text.parse::<toml::Table>().unwrap();
        match () {
            () if keys.contains_key("power") => Self::Target,
            () if keys.contains_key("thread") => Self::Threads,
            () if keys.contains_key("rule") => Self::Alerts,
            () if keys.contains_key("chain") => Self::Chains,
            () => Self::Plan,
        }
    }
}

/// The TOML files of a kind in the blocks of the pages, each with the name of its page.
pub fn toml_files(kind: TomlFile) -> Vec<(PathBuf, String)> {
    let blocks = |page: PathBuf| {
        let text = fs::read_to_string(&page).unwrap();
        let blocks = text.split("```toml\n").skip(1).filter_map(|rest| rest.split("```").next());
        blocks.map(|block| (page.clone(), block.to_owned())).collect::<Vec<_>>()
    };
    pages().into_iter().flat_map(blocks).filter(|(_, text)| TomlFile::of(text) == kind).collect()
}

/// The commands in the blocks of a page.
pub fn in_page(page: &Path) -> Vec<String> {
    lines_of_blocks(page).iter().filter_map(|line| command(line)).collect()
}

/// The lines of its blocks, except those of `text`, which show output alone.
pub fn lines_of_blocks(page: &Path) -> Vec<String> {
    let text = fs::read_to_string(page).unwrap().replace("\\\n", " ");
    text.split("```")
        .skip(1)
        .step_by(2)
        .filter(|block| !block.starts_with("text\n"))
        .flat_map(str::lines)
        .filter(|line| !line.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A line that starts with `tardy`, after a prompt or not, without the remark at its end.
fn command(line: &str) -> Option<String> {
    let line = line.trim_start_matches([' ', '$']);
    let line = line.split("  # ").next().unwrap_or(line).trim_end().trim_end_matches(" &");
    let words: Vec<&str> = line.split_whitespace().collect();
    // A line of the list of verbs and a usage are not examples, and one that is wrapped in quotes is whole elsewhere.
    let whole = line.matches('\'').count().is_multiple_of(2) && !line.contains("<COMMAND>");
    (words.first() == Some(&"tardy") && words.len() > 1 && whole).then(|| words.join(" "))
}
