//! The document of the loads and the catalogue of the causes know every load.

use super::repository::text;
use archive::load::{BUILTIN_LOADS, PROGRAM_LOADS};

#[test]
fn the_document_of_the_loads_names_every_load_and_every_option() {
    let document = text("docs/loads.md");
    let row = |name: &str| document.lines().any(|line| line.starts_with(&format!("| `{name}` |")));
    for name in BUILTIN_LOADS.iter().map(|load| load.name).chain(PROGRAM_LOADS.iter().map(|load| load.name)) {
        assert!(row(name), "docs/loads.md has no row `{name}`");
    }
    for load in &PROGRAM_LOADS {
        for option in load.options {
            let shown = if option.flag { format!("`{}`", option.key) } else { format!("`{}=`", option.key) };
            assert!(document.contains(&shown), "docs/loads.md does not tell {shown} of {}", load.name);
        }
    }
}

#[test]
fn loads_provoke_causes_that_there_are() {
    let culprits = text("docs/culprits.md");
    for load in &BUILTIN_LOADS {
        for culprit in load.culprits {
            let known = culprits.lines().any(|line| line == format!("## {culprit}"));
            assert!(known, "{}: there is no culprit `{culprit}`", load.name);
        }
    }
}
