//! The document of the loads contains every load.

use super::repository::text;
use archive::load::{BUILTIN_LOADS, PROGRAM_LOADS};

#[test]
fn the_document_of_the_loads_names_every_load_and_every_option() {
    let document = text("docs/reference/loads.md");
    let row = |name: &str| document.lines().any(|line| line.starts_with(&format!("| `{name}` |")));
    for name in BUILTIN_LOADS.iter().map(|load| load.name).chain(PROGRAM_LOADS.iter().map(|load| load.name)) {
        assert!(row(name), "docs/reference/loads.md has no row `{name}`");
    }
    for load in &PROGRAM_LOADS {
        for option in load.options {
            let shown = if option.flag { format!("`{}`", option.key) } else { format!("`{}=`", option.key) };
            assert!(document.contains(&shown), "docs/reference/loads.md does not show {shown} of {}", load.name);
        }
    }
}

/// Names in a source that waits for an instant or for a limited time, or that draws numbers that cannot be reproduced.
const CLOCKS: &[&str] =
    &["Instant", "SystemTime", "sleep", "Duration", "timerfd", "clock", "timeout", "getrandom", "urandom", "alarm"];

#[test]
fn loads_that_are_bounded_by_work_know_no_clock_and_the_others_do() {
    let file = |name: &str| match name {
        "thp" => "huge_page".to_owned(),
        "cpu" => "spin".to_owned(),
        name => name.to_owned(),
    };
    for load in BUILTIN_LOADS.iter().filter(|load| load.parts.is_empty()) {
        let source = text(&format!("crates/measure/load/src/{}.rs", file(load.name)));
        let source = source.split("#[cfg(test)]").next().unwrap_or_default();
        let code: Vec<&str> = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
        let named = CLOCKS.iter().find(|clock| code.iter().any(|line| line.contains(**clock)));
        assert_eq!(named.is_none(), load.by_work, "{}: names {named:?}", load.name);
    }
}

#[test]
fn the_document_of_the_loads_names_those_that_are_bounded_by_a_clock() {
    let document = text("docs/reference/loads.md");
    let line = document.lines().find(|line| line.contains("bounded by a clock as well")).unwrap_or_default();
    for load in &BUILTIN_LOADS {
        assert_eq!(line.contains(&format!("`{}`", load.name)), !load.by_work, "{}: {line:?}", load.name);
    }
}
