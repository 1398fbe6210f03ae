//! Limits of parts of the code: no access to the disk, no clock, none of the work of another part.

use crate::repository::{assert_none, files_ending, of_crate, packages, root, text};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Names of side effects.
const IMPURE: [&str; 9] = [
    "std::fs",
    "std::net",
    "std::process",
    "std::env",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
    "Instant::now",
    "std::os::",
];

fn sources(folder: &str) -> Vec<&'static str> {
    let found: Vec<&str> = files_ending(&[".rs"]).filter(|name| name.starts_with(folder)).collect();
    assert!(!found.is_empty(), "there is no source in {folder}");
    found
}

fn lines_with(names: &[&str], words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for name in names {
        for (number, line) in text(name).lines().enumerate() {
            if words.iter().any(|word| line.contains(word)) && !line.trim_start().starts_with("//") {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    found
}

/// A crate as its Cargo.toml describes it.
struct Crate {
    name: String,
    /// `crates/core/ftrace/src/`.
    folder: String,
    /// Modules that do I/O, read a clock or start something: none, some, or `anywhere`.
    effects: Vec<String>,
    /// Files that print, because each is the main function of a process of its own.
    prints: Vec<String>,
    is_library: bool,
    /// Sources of programs.
    programs: Vec<String>,
}

/// Every crate of the workspace; one that does not state its effects fails.
fn crates() -> Vec<Crate> {
    packages("Cargo.toml").iter().map(described).collect()
}

fn described(package: &Value) -> Crate {
    let name = package["name"].as_str().unwrap().to_owned();
    let words = |key: &str| -> Option<Vec<String>> {
        let stated = package["metadata"][key].as_array()?.iter();
        stated.map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let targets = package["targets"].as_array().unwrap();
    let has_kind = |target: &Value, kinds: &[&str]| {
        target["kind"].as_array().unwrap().iter().any(|kind| kinds.iter().any(|of| kind == of))
    };
    let path = |target: &Value| {
        let path = Path::new(target["src_path"].as_str().unwrap()).strip_prefix(root()).unwrap();
        path.to_string_lossy().into_owned()
    };
    Crate {
        folder: of_crate(&name),
        effects: words("effects")
            .unwrap_or_else(|| panic!("Cargo.toml of {name} lacks `effects` in [package.metadata]")),
        prints: words("prints").unwrap_or_default(),
        is_library: targets.iter().any(|target| has_kind(target, &["lib", "cdylib", "proc-macro"])),
        programs: targets.iter().filter(|target| has_kind(target, &["bin"])).map(path).collect(),
        name,
    }
}

impl Crate {
    /// Files of modules that the crate lists as having effects.
    fn in_effects(&self, file: &str) -> bool {
        let module = file.strip_prefix(self.folder.as_str()).unwrap_or(file);
        let is_in = |listed: &String| module == format!("{listed}.rs") || module.starts_with(&format!("{listed}/"));
        self.effects.iter().any(|listed| listed == "anywhere" || is_in(listed))
    }

    fn pure_sources(&self) -> Vec<&'static str> {
        sources(&self.folder).into_iter().filter(|file| !self.in_effects(file)).collect()
    }
}

#[test]
fn the_pure_crates_do_no_io_and_read_no_clock() {
    let crates = crates();
    let pure: Vec<&str> = crates.iter().flat_map(Crate::pure_sources).collect();
    assert_none("these reach out of a pure computation", lines_with(&pure, &IMPURE));
    for of in crates.iter().filter(|of| !of.effects.is_empty()) {
        let effects: Vec<&str> = sources(&of.folder).into_iter().filter(|file| of.in_effects(file)).collect();
        assert!(!lines_with(&effects, &IMPURE).is_empty(), "{} has no effect in {:?}", of.name, of.effects);
    }
}

#[test]
fn clippy_watches_over_the_pure_crates() {
    let crates = crates();
    let watched = crates.iter().filter(|of| !of.effects.iter().any(|module| module == "anywhere"));
    for of in watched {
        let library = format!("{}lib.rs", of.folder);
        assert!(text(&library).contains("#![deny(clippy::disallowed_methods)]"), "{library} allows everything");
        assert_none(
            "these allow themselves I/O",
            lines_with(&of.pure_sources(), &["allow(clippy::disallowed_methods"]),
        );
    }
}

const PRINTING: [&str; 4] = ["println!(", "eprintln!(", "print!(", "eprint!("];

#[test]
fn libraries_print_nothing() {
    for of in crates().iter().filter(|of| of.is_library) {
        let mains: Vec<String> = of.prints.iter().map(|module| format!("{}{module}.rs", of.folder)).collect();
        for main in &mains {
            assert!(!lines_with(&[main], &PRINTING).is_empty(), "{} lists {main}, which prints nothing", of.name);
        }
        let may_print = |file: &str| mains.iter().chain(&of.programs).any(|main| main == file);
        let library: Vec<&str> = sources(&of.folder).into_iter().filter(|file| !may_print(file)).collect();
        assert_none("these print", lines_with(&library, &PRINTING));
    }
}

/// The only file above `account` that names `explain`: it reads traces for exports.
const DOOR_TO_EXPLAIN: &str = "crates/exchange/interchange/src/recorded.rs";

#[test]
fn causes_come_from_explain_alone() {
    let folders = ["interchange", "report", "tardy"].map(|name| sources(&of_crate(name)));
    let presenters: Vec<&str> = folders.concat().into_iter().filter(|name| *name != DOOR_TO_EXPLAIN).collect();
    let makers = ["use explain::", "::explain::", "Explanation {", "Finding {", "Claim {"];
    let found = lines_with(&presenters, &makers)
        .into_iter()
        .filter(|line| !line.contains("&Explanation") && !line.contains("super::explain::"));
    assert_none("these make up causes of their own", found.collect());
    let named = lines_with(&[DOOR_TO_EXPLAIN], &["explain::"]);
    let judging = named
        .into_iter()
        .filter(|line| !line.contains("explain::recording::") && !line.contains("explain::{Source, Stretch}"));
    assert_none("an export needs what was recorded, not what it means", judging.collect());
}

#[test]
fn a_server_can_show_and_exchange_runs_without_the_command_line() {
    let folders = ["interchange", "report", "server", "words"].map(|name| sources(&of_crate(name)));
    let of_the_command_line =
        ["clap::", "anyhow::", "IsTerminal", "std::env", "std::process", "io::stdout", "io::stderr"];
    assert_none("these belong to the command line", lines_with(&folders.concat(), &of_the_command_line));
}

#[test]
fn the_archive_starts_no_process() {
    assert_none(
        "these do",
        lines_with(&sources("crates/core/archive/src/"), &["std::process", "std::net", "Command::new"]),
    );
}

/// Every package that a package is built from; packages of its tests do not count.
fn needed_by(package: &str) -> BTreeSet<String> {
    let words = ["tree", "--offline", "--edges", "normal,build", "--prefix", "none", "--package", package];
    let output =
        Command::new(env!("CARGO")).args(words).current_dir(root()).output().expect("cargo lists the packages");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).expect("names are UTF-8");
    listed.lines().filter_map(|line| Some(line.split(' ').next()?.to_owned())).collect()
}

#[test]
fn the_meter_has_no_async_runtime() {
    const RUNTIMES: [&str; 6] = ["tokio", "async-std", "smol", "mio", "async-executor", "futures-executor"];
    let meter = needed_by("tardy-meter");
    assert!(meter.contains("rustix") && meter.contains("meter"), "{meter:?}");
    let found = RUNTIMES.iter().filter(|name| meter.contains(**name)).map(|name| (*name).to_owned());
    assert_none("the meter needs", found.collect());
    assert!(needed_by("store").contains("tokio"), "the list of packages is not read");
}

/// An ELF file that needs no loader has no program header of type PT_INTERP.
#[test]
fn the_meter_links_statically() {
    const PT_INTERP: u32 = 3;
    let path = root().join("dist/bin/tardy-meter");
    let elf = fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}; run `make build` first", path.display()));
    assert_eq!(elf[..6], [0x7f, b'E', b'L', b'F', 2, 1], "not a 64-bit little-endian ELF file");
    let number =
        |at: usize, size: usize| elf[at..at + size].iter().rev().fold(0, |sum, &byte| sum << 8 | byte as usize);
    let (table, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    assert!(count > 0);
    for header in 0..count {
        assert_ne!(number(table + header * size, 4) as u32, PT_INTERP, "the meter asks for a dynamic loader");
    }
}
