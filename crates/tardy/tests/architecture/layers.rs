//! The order of the modules within a crate, and where unsafe code is allowed.

use crate::repository::{assert_none, code_blocks, files_ending, text};
use archive::culprit::Culprit;

const METER: &str = "crates/measure/meter/src/";
/// Where unsafe code is allowed: wrappers of system calls, workers that consist of system calls, a plugin's C interface,
/// and the library that changes the code of the program it is in.
const UNSAFE: [&str; 11] = [
    "crates/measure/meter/src/kernel/",
    "crates/measure/devices/src/kernel/",
    "crates/measure/load/src/",
    "crates/virtual/flight-recorder/src/",
    "crates/program/interception/src/process/",
    "crates/proof/syscall-faults/src/image.rs",
    "crates/proof/syscall-faults/src/ptrace.rs",
    "crates/proof/truth/src/injector/",
    "crates/proof/truth/src/host.rs",
    "crates/targets/machines/src/qemu/lifeline.rs",
    "crates/targets/machines/src/qemu/virtual_time/steady.rs",
];

/// Lines of code, without comments.
fn code(name: &str) -> Vec<String> {
    let text = text(name);
    let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.map(|line| line.split(" // ").next().unwrap_or_default().to_owned()).collect()
}

fn module(name: &str) -> Option<&str> {
    let inside = name.strip_prefix(METER)?;
    inside.split(['/', '.']).next().filter(|module| *module != "lib")
}

#[test]
fn modules_of_the_meter_use_those_below_them() {
    let document = text("crates/measure/meter/src/lib.rs").replace("//! ", "").replace("//!", "");
    let listed = code_blocks(&document, "order").join(" ");
    let order: Vec<&str> = listed.split_whitespace().collect();
    let position = |module: &str| order.iter().position(|listed| *listed == module);
    let mut wrong = Vec::new();
    for name in files_ending(&[".rs"]) {
        let Some(user) = module(name) else { continue };
        let Some(at) = position(user) else {
            wrong.push(format!("{user} is not in the order that lib.rs gives"));
            continue;
        };
        for line in code(name) {
            for used in line.split("crate::").skip(1) {
                let used: String =
                    used.chars().take_while(|letter| letter.is_alphanumeric() || *letter == '_').collect();
                if used != user && position(&used).is_none_or(|below| below < at) {
                    wrong.push(format!("{name} uses {used}, which is not below {user}"));
                }
            }
        }
    }
    wrong.dedup();
    assert_none("these turn the order of the meter's modules around", wrong);
}

/// Modules beside a source that a line of it names.
fn beside(line: &str) -> impl Iterator<Item = &str> {
    let behind = line.split("super::").skip(1).chain(line.split("::culprits::").skip(1));
    behind.flat_map(|path| {
        let listed = path.strip_prefix('{').and_then(|path| path.split('}').next());
        listed
            .unwrap_or(path)
            .split(',')
            .take(if listed.is_some() { usize::MAX } else { 1 })
            .filter_map(|name| name.trim().split(|letter: char| !letter.is_alphanumeric() && letter != '_').next())
    })
}

#[test]
fn no_culprit_uses_another() {
    const FOLDERS: [&str; 2] = ["crates/core/explain/src/recognise/culprits/", "crates/core/words/src/culprits/"];
    let culprits: Vec<String> = Culprit::ALL.iter().map(|culprit| culprit.id().replace('-', "_")).collect();
    let sources = files_ending(&[".rs"]).filter(|name| FOLDERS.iter().any(|folder| name.starts_with(folder)));
    let found = sources.flat_map(|name| {
        let lines = code(name);
        let used: Vec<String> = lines.iter().flat_map(|line| beside(line)).map(str::to_owned).collect();
        used.into_iter().filter(|used| culprits.contains(used)).map(move |used| format!("{name} uses {used}"))
    });
    assert_none("these use another culprit; give what both need a file of its own", found.collect());
}

#[test]
fn modules_beside_a_source_are_seen() {
    let used = |line: &'static str| beside(line).collect::<Vec<_>>();
    assert_eq!(used("use super::steal::FIX;"), ["steal"]);
    assert_eq!(used("use super::{Advice, steal, tick::words};"), ["Advice", "steal", "tick"]);
    assert_eq!(used("if crate::recognise::culprits::printk::look(case).is_some() {"), ["printk"]);
    assert!(used("use archive::culprit::Stolen;").is_empty());
}

#[test]
fn unsafe_code_is_in_its_places_only() {
    let elsewhere = files_ending(&[".rs"])
        .filter(|name| name.starts_with("crates/") && name.contains("/src/"))
        .filter(|name| !UNSAFE.iter().any(|place| name.starts_with(place)))
        .filter(|name| code(name).iter().any(|line| line.contains("unsafe ")));
    assert_none("these hold unsafe code", elsewhere.map(str::to_owned).collect());
}
