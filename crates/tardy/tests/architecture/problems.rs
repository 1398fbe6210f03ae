//! `docs/reference/problems.md` against the codes that the crates define. `UPDATE_GOLDEN=1 cargo test -p tardy --test
//! architecture problems` writes it.

mod emitted;

use crate::repository::{files_ending, root, text};
use archive::problem::Definition;
use std::collections::BTreeMap;
use std::fs;
use words::sentence::sentence;

const DOCUMENT: &str = "docs/reference/problems.md";

/// Types with the definitions that they declare.
macro_rules! declared {
    ($($kind:path),+ $(,)?) => { &[$((stringify!($kind), <$kind>::DEFINITIONS)),+] };
}

/// Every type with problems.
const ALL: &[(&str, &[Definition])] = declared![
    archive::caveat::Limit,
    archive::damage::Damage,
    evidence::problem::Lack,
    evidence::problem::RecordingProblem,
    interchange::imports::problem::Contradiction,
    interchange::imports::problem::ImportProblem,
    interchange::imports::problem::Lost,
    judge::caution::Caution,
    judge::refusal::Refusal,
    load::problem::Failure,
    load::problem::LoadError,
    machines::Caveat,
    machines::MachineEvent,
    machines::board::problem::BoardProblem,
    machines::labgrid::problem::PlaceProblem,
    machines::qemu::problem::StateProblem,
    meter::kernel_tracer::interference::Interference,
    meter::kernel_tracer::refusal::Refusal,
    meter::methods::error::MethodError,
    meter::problem::MeterProblem,
    meter::spool::problem::SpoolProblem,
    meter::trace::held_tracing::Taken,
    report::problem::Omission,
    runner::problem::RunProblem,
    runner::roles::problem::RoleProblem,
    runner::stimulus::problem::StimulusProblem,
    server::problem::Refusal,
    tardy::Failure,
    tardy::NothingWoke,
    tardy::RequestProblem,
    tardy::StepProblem,
];

/// Codes of errors of targets: that of a backend, if it has one, replaces that of the contract.
const OF_TARGETS: &[&[Definition]] = &[machines::qemu::error::DEFINITIONS, machines::target::DEFINITIONS];

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
    for definition in ALL.iter().flat_map(|(_, definitions)| *definitions).chain(OF_TARGETS.iter().copied().flatten()) {
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
        // In a message it follows a colon; some problems have no fix.
        if !definition.fix.is_empty() {
            document.push_str(&format!("\n**Fix:** {}\n", sentence(definition.fix)));
        }
    }
    document
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
fn every_type_that_declares_problems_is_in_the_document() {
    let found = files_ending(&[".rs"]).filter(|name| name.starts_with("crates/") && name.contains("/src/"));
    let mut found: Vec<String> = found.flat_map(|name| deriving(&text(name))).collect();
    let mut listed: Vec<&str> = ALL.iter().filter_map(|(kind, _)| kind.rsplit("::").next()).map(str::trim).collect();
    found.sort_unstable();
    listed.sort_unstable();
    assert_eq!(found, listed, "left: types in the sources, right: types this test writes into {DOCUMENT}");
}

/// Names of the types that derive `Problem`.
fn deriving(source: &str) -> Vec<String> {
    let mut lines = source.lines();
    let mut found = Vec::new();
    while let Some(line) = lines.next() {
        let Some(derived) = line.strip_prefix("#[derive(").and_then(|rest| rest.strip_suffix(")]")) else { continue };
        if derived.split(", ").any(|derived| derived == "Problem") {
            let item = lines.find_map(|line| {
                let item = line.strip_prefix("pub ").or(line.strip_prefix("pub(crate) ")).unwrap_or(line);
                item.strip_prefix("enum ").or(item.strip_prefix("struct "))
            });
            let name = item.and_then(|item| item.split(|letter: char| !letter.is_alphanumeric()).next());
            found.extend(name.map(str::to_owned));
        }
    }
    found
}
