//! `docs/reference/problems.md` against the codes that the crates define. `UPDATE_GOLDEN=1 cargo test -p tardy --test
//! architecture problems` writes it.

mod emitted;

use crate::repository::{files_ending, root, text};
use archive::problem::Definition;
use std::collections::BTreeMap;
use std::fs;

const DOCUMENT: &str = "docs/reference/problems.md";

/// The lists of all crates that define problems, with the file of each.
const ALL: &[(&str, &[Definition])] = &[
    ("crates/core/archive/src/damage.rs", archive::damage::Damage::DEFINITIONS),
    ("crates/core/explain/src/caveat.rs", explain::caveat::DEFINITIONS),
    ("crates/exchange/interchange/src/imports/problem.rs", interchange::imports::problem::DEFINITIONS),
    ("crates/core/judge/src/problem.rs", judge::problem::DEFINITIONS),
    ("crates/measure/load/src/problem.rs", load::problem::DEFINITIONS),
    ("crates/targets/machines/src/board/problem.rs", machines::board::problem::DEFINITIONS),
    ("crates/targets/machines/src/labgrid/problem.rs", machines::labgrid::problem::DEFINITIONS),
    ("crates/targets/machines/src/problem.rs", machines::problem::DEFINITIONS),
    ("crates/targets/machines/src/qemu/error.rs", machines::qemu::error::DEFINITIONS),
    ("crates/targets/machines/src/qemu/problem.rs", machines::qemu::problem::DEFINITIONS),
    ("crates/targets/machines/src/target.rs", machines::target::DEFINITIONS),
    ("crates/measure/meter/src/kernel_tracer/interference.rs", meter::kernel_tracer::interference::DEFINITIONS),
    ("crates/measure/meter/src/kernel_tracer/refusal.rs", meter::kernel_tracer::refusal::DEFINITIONS),
    ("crates/measure/meter/src/methods/error.rs", meter::methods::error::DEFINITIONS),
    ("crates/measure/meter/src/problem.rs", meter::problem::DEFINITIONS),
    ("crates/measure/meter/src/spool/problem.rs", meter::spool::problem::DEFINITIONS),
    ("crates/core/report/src/problem.rs", report::problem::DEFINITIONS),
    ("crates/targets/runner/src/problem.rs", runner::problem::DEFINITIONS),
    ("crates/targets/runner/src/roles/problem.rs", runner::roles::problem::DEFINITIONS),
    ("crates/targets/runner/src/stimulus/problem.rs", runner::stimulus::problem::DEFINITIONS),
    ("crates/lab/server/src/problem.rs", server::problem::DEFINITIONS),
    ("crates/tardy/src/plans/problem.rs", tardy::PLAN_DEFINITIONS),
    ("crates/tardy/src/refusal.rs", tardy::REFUSAL_DEFINITIONS),
];

const HEAD: &str = "\
# Problems

Every problem, gap and refusal of a run has a code that stays the same from version to version. `--json` and the archive
carry it beside the text; the text may change. A verb that fails with `--json` prints an `error` object with `code`, `text` and `fix` on
standard output instead of its result, and the same as a sentence on standard error. `unclassified` stands in archives that are older than the codes.

A problem weighs: *notice* is worth knowing, *degraded* means that the numbers stand but not for what was asked, *invalid*
that they must not be used.
";

fn sorted() -> BTreeMap<&'static str, Definition> {
    let mut by_code = BTreeMap::new();
    for definition in ALL.iter().flat_map(|(_, definitions)| *definitions) {
        let before = by_code.insert(definition.code, *definition);
        assert_eq!(before, None, "two definitions of one code");
    }
    by_code
}

fn document() -> String {
    let mut document = HEAD.to_owned();
    let mut area = "";
    for (code, definition) in sorted() {
        let of = code.split('.').next().unwrap_or_default();
        if of != area {
            document.push_str(&format!("\n## {of}\n"));
            area = of;
        }
        let anchor = code.replace('.', "-");
        document.push_str(&format!("\n<a id=\"{anchor}\"></a>\n\n### `{code}`\n\n{}\n", definition.meaning));
        if let Some(fix) = sentence(definition.fix) {
            document.push_str(&format!("\n**Fix:** {fix}\n"));
        }
    }
    document
}

/// A fix as a separate sentence; in a message it follows a colon. Some problems have no fix.
fn sentence(fix: &str) -> Option<String> {
    let mut letters = fix.chars();
    let first = letters.next()?;
    let end = if fix.ends_with('.') { "" } else { "." };
    Some(format!("{}{}{end}", first.to_uppercase(), letters.as_str()))
}

#[test]
fn the_document_of_the_problems_has_every_code() {
    let path = root().join(DOCUMENT);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, document()).unwrap();
    }
    assert_eq!(fs::read_to_string(&path).unwrap_or_default(), document(), "UPDATE_GOLDEN=1 writes {DOCUMENT}");
}

#[test]
fn every_list_of_codes_is_in_the_document() {
    let begins = |line: &str| {
        line.starts_with("pub const DEFINITIONS: &[Definition]")
            || line.starts_with("problem_codes! {")
            || line.starts_with("#[derive(") && line.contains("Problem)]")
            || line.contains("[archive::problem::Definition] = &[")
    };
    let defines = |name: &&str| text(name).lines().any(begins);
    let found: Vec<&str> = files_ending(&[".rs"])
        .filter(|name| name.starts_with("crates/") && name.contains("/src/"))
        .filter(defines)
        .collect();
    let mut listed: Vec<&str> = ALL.iter().map(|(file, _)| *file).collect();
    listed.sort_unstable();
    assert_eq!(found, listed, "left: lists in the sources, right: lists this test writes into {DOCUMENT}");
}

#[test]
fn codes_are_an_area_and_what_happened() {
    for (code, definition) in sorted() {
        let (area, what) = code.split_once('.').unwrap_or_default();
        let plain =
            |part: &str| !part.is_empty() && part.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-');
        assert!(plain(area) && plain(what), "{code}");
        assert!(definition.meaning.ends_with('.'), "{code} is no sentence");
    }
}
