//! The verbs of the program: none depends on another.

use crate::repository::{assert_none, files_ending, text};

const SOURCES: &str = "crates/tardy/src/";
/// Beginnings of the paths that may name verbs: the command line, which starts them.
const STARTS_VERBS: &str = "command_line";

/// The lines of a source above its tests, with their numbers.
fn code(name: &str) -> Vec<(usize, String)> {
    let text = text(name);
    let lines = text.lines().take_while(|line| *line != "#[cfg(test)]").enumerate();
    lines.filter(|(_, line)| !line.trim_start().starts_with("//")).map(|(at, line)| (at + 1, line.to_owned())).collect()
}

#[test]
fn no_verb_knows_another_verb() {
    let mut found = Vec::new();
    let mut verbs = 0;
    for name in files_ending(&[".rs"]).filter(|name| name.starts_with(SOURCES)) {
        let path = &name[SOURCES.len()..];
        if path.starts_with(STARTS_VERBS) {
            continue;
        }
        // This number of `super` leads from a file of a verb out of the verb.
        let out = path.strip_prefix("verbs/").map(|inside| "super::".repeat(inside.split('/').count()));
        verbs += usize::from(out.is_some());
        for (number, line) in code(name) {
            if line.contains("verbs::") || out.as_ref().is_some_and(|out| line.contains(out.as_str())) {
                found.push(format!("{name}:{number}: {}", line.trim()));
            }
        }
    }
    assert!(verbs > 25, "only {verbs} files of verbs were found");
    assert_none("what two verbs need belongs beside the verbs", found);
}
