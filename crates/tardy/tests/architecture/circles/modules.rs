//! The files of a crate as modules, and which of them a path leads to.

use super::paths::{Path, exports, paths, test_modules, tokens};
use crate::repository::{files_ending, text};
use std::collections::{BTreeMap, BTreeSet};

/// Exports that lead to exports are followed this far.
const EXPORTS_MAX: usize = 8;

/// A file of a crate.
struct Module {
    file: &'static str,
    tokens: Vec<String>,
    /// Names that it exports, with their paths.
    exports: Vec<(Path, String)>,
}

/// The files of a crate by their module paths; the root has none.
pub struct Modules(BTreeMap<Path, Module>);

impl Modules {
    /// The files below a folder of sources, without those of tests and of further programs.
    pub fn of(folder: &str) -> Self {
        let files = files_ending(&[".rs"]).filter(|file| file.starts_with(folder));
        let files: Vec<&str> = files.filter(|file| !file[folder.len()..].starts_with("bin/")).collect();
        let mut tests: Vec<Path> = Vec::new();
        let mut found = BTreeMap::new();
        for file in files {
            let (source, path) = (text(file), path_of(&file[folder.len()..]));
            tests.extend(test_modules(&source).into_iter().map(|name| [path.as_slice(), &[name]].concat()));
            let tokens = tokens(&source);
            let exports = exports(&tokens);
            found.insert(path, Module { file, tokens, exports });
        }
        found.retain(|path, _| !tests.iter().any(|test| path.starts_with(test)));
        Self(found)
    }

    /// Which files use which others. A module that names its own parts does not count.
    pub fn arrows(&self) -> BTreeSet<(&'static str, &'static str)> {
        let mut found = BTreeSet::new();
        for (user, module) in &self.0 {
            for path in paths(&module.tokens) {
                let used = absolute(user, &path).and_then(|path| self.home(&path, 0));
                let Some(used) = used.filter(|used| !used.starts_with(user)) else { continue };
                found.insert((module.file, self.0[&used].file));
            }
        }
        found
    }

    /// The module that defines what an absolute path names, or the one that exports it from elsewhere.
    fn home(&self, path: &[String], followed: usize) -> Option<Path> {
        let length = (0..=path.len()).rev().find(|length| self.0.contains_key(&path[..*length]))?;
        let (module, rest) = path.split_at(length);
        let Some(name) = rest.first().filter(|_| followed < EXPORTS_MAX) else { return Some(module.to_vec()) };
        let exported = |(path, exported): &(Path, String)| {
            if exported != name && exported != "*" {
                return None;
            }
            let mut path = absolute(module, path).or_else(|| self.child(module, path))?;
            if exported == "*" {
                path.pop();
                path.push(name.clone());
            }
            let home = self.home(&path, followed + 1)?;
            (exported == name || self.0[&home].defines(name)).then_some(home)
        };
        self.0[module].exports.iter().find_map(exported).or_else(|| Some(module.to_vec()))
    }

    /// A path that begins with a part of this module.
    fn child(&self, module: &[String], path: &[String]) -> Option<Path> {
        let child = [module, &path[..1]].concat();
        self.0.contains_key(&child).then(|| [module, path].concat())
    }
}

impl Module {
    fn defines(&self, name: &str) -> bool {
        const ITEMS: [&str; 8] = ["struct", "enum", "trait", "fn", "const", "static", "type", "mod"];
        self.tokens.windows(2).any(|two| two[1] == name && ITEMS.contains(&two[0].as_str()))
    }
}

/// The module path of a file: `a::b` of `a/b.rs` and of `a/b/mod.rs`.
fn path_of(file: &str) -> Path {
    let path = file.trim_end_matches(".rs");
    let mut path: Path = path.split('/').map(str::to_owned).collect();
    if path.last().is_some_and(|name| ["mod", "lib", "main"].contains(&name.as_str())) {
        path.pop();
    }
    path
}

/// A path from the root of the crate. None if it begins elsewhere.
fn absolute(module: &[String], path: &[String]) -> Option<Path> {
    let mut base = match path.first()?.as_str() {
        "crate" => Vec::new(),
        "self" | "super" => module.to_vec(),
        _ => return None,
    };
    let mut rest = if path[0] == "super" { path } else { &path[1..] };
    while rest.first().is_some_and(|name| name == "super") {
        base.pop()?;
        rest = &rest[1..];
    }
    Some([base.as_slice(), rest].concat())
}
