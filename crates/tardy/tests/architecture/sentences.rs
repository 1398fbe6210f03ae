//! Decisions are based on codes and enums: no code compares a sentence with another, searches one for words or rewrites
//! it, and none names a culprit by text.

use crate::repository::{assert_none, files_ending, text};
use archive::culprit::Culprit;

/// Operations that compare a literal or search for it.
const COMPARISONS: [&str; 12] = [
    "== \"",
    "!= \"",
    ".contains(\"",
    ".starts_with(\"",
    ".ends_with(\"",
    ".find(\"",
    ".rfind(\"",
    ".matches(\"",
    ".split_once(\"",
    ".strip_prefix(\"",
    ".strip_suffix(\"",
    ".eq(\"",
];

/// Files that parse the output of a program or a kernel without codes, each in this one place, and what they parse.
const FOREIGN: [(&str, &str); 14] = [
    ("crates/core/ftrace/src/format.rs", "format files of the kernel's events"),
    ("crates/core/ftrace/src/format/field.rs", "format files of the kernel's events"),
    ("crates/core/ftrace/src/kernel_addresses.rs", "types in the format files of the kernel's events"),
    ("crates/core/ftrace/src/latency_trace/head.rs", "the header of the kernel's latency tracers"),
    ("crates/core/ftrace/src/trace_dat/reader/text_sections.rs", "option names of trace-cmd's files"),
    ("crates/exchange/interchange/src/imports/cyclictest_text.rs", "what cyclictest prints"),
    ("crates/targets/machines/src/board/full_disk.rs", "errors of a board's shell"),
    ("crates/targets/machines/src/board/serial/login.rs", "what boot loaders and logins print"),
    ("crates/targets/machines/src/labgrid/place.rs", "what labgrid-client prints"),
    ("crates/targets/machines/src/qemu/absences/processors.rs", "names in QEMU's answers"),
    ("crates/targets/machines/src/qemu/fake_machine.rs", "the command line of QEMU, for tests"),
    ("crates/measure/meter/src/environment/preemption.rs", "the kernel's version string"),
    ("crates/measure/meter/src/environment/processor.rs", "the kernel's list of vulnerabilities"),
    ("crates/tardy/src/verbs/record/traced.rs", "what QEMU prints about plugins"),
];

/// The literals that a source compares with and that are phrases, with their lines.
fn compared(source: &str) -> Vec<(usize, String)> {
    let code = without_tests(source);
    let mut found = Vec::new();
    for comparison in COMPARISONS {
        for (at, _) in code.match_indices(comparison) {
            let literal = literal(&code[at + comparison.len()..]);
            if is_a_phrase(&literal) {
                found.push((code[..at].lines().count().max(1), literal));
            }
        }
    }
    found
}

/// Tests compare printed text by design.
fn without_tests(source: &str) -> &str {
    source.split("#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// Lines that replace words of a finished sentence.
fn rewritten(source: &str) -> Vec<(usize, String)> {
    let lines = (1..).zip(without_tests(source).lines());
    lines.filter(|(_, line)| line.contains(".replace(\"the ")).map(|(at, line)| (at, line.trim().to_owned())).collect()
}

/// Identifiers of culprits in literals. Many of one word name other things as well, such as events; they count where the
/// line is about culprits. An item of the same `name` is no culprit.
fn culprits_named(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, line) in (1..).zip(without_tests(source).lines()) {
        let about_culprits = line.to_lowercase().contains("culprit");
        let named = Culprit::ALL.iter().map(Culprit::id).filter(|id| id.contains('-') || about_culprits);
        let own_name = |quoted: &str| line.trim_start().starts_with(&format!("name: {quoted}"));
        let quoted = named.map(|id| format!("\"{id}\"")).filter(|quoted| line.contains(quoted) && !own_name(quoted));
        found.extend(quoted.map(|quoted| (at, quoted)));
    }
    found
}

/// The rest of a literal up to its closing quote.
fn literal(rest: &str) -> String {
    let mut escaped = false;
    let inside = rest.chars().take_while(|letter| {
        let ends = *letter == '"' && !escaped;
        escaped = *letter == '\\' && !escaped;
        !ends
    });
    inside.collect()
}

/// Two words with a space between them.
fn is_a_phrase(literal: &str) -> bool {
    let letters: Vec<char> = literal.chars().collect();
    let word = |letter: char| letter.is_alphabetic() || letter == ',' || letter == ';';
    letters.windows(3).any(|three| word(three[0]) && three[1] == ' ' && three[2].is_alphabetic())
}

fn sources() -> impl Iterator<Item = &'static str> {
    files_ending(&[".rs"]).filter(|name| {
        let in_source = name.starts_with("crates/") && name.contains("/src/");
        in_source && !name.contains("/tests/") && !name.ends_with("/tests.rs")
    })
}

#[test]
fn no_decision_reads_a_sentence() {
    let foreign = |name: &str| FOREIGN.iter().any(|(file, _)| *file == name);
    let found = sources().filter(|name| !foreign(name)).flat_map(|name| {
        compared(&text(name)).into_iter().map(move |(line, literal)| format!("{name}:{line}: \"{literal}\""))
    });
    assert_none("these decide by the words of a sentence; give what they read a code or an enum", found.collect());
}

#[test]
fn no_code_rewrites_a_sentence() {
    let found = sources()
        .flat_map(|name| rewritten(&text(name)).into_iter().map(move |(line, code)| format!("{name}:{line}: {code}")));
    assert_none("these change words of a sentence; make it from facts", found.collect());
}

#[test]
fn no_code_names_a_culprit_by_text() {
    const LIST: &str = "crates/core/archive/src/culprit.rs";
    assert!(!culprits_named(&text(LIST)).is_empty(), "{LIST} lists the culprits");
    // Laboratories and examples are no product.
    let product = sources().filter(|name| *name != LIST && !name.starts_with("crates/proof/"));
    let found = product.flat_map(|name| {
        culprits_named(&text(name)).into_iter().map(move |(line, quoted)| format!("{name}:{line}: {quoted}"))
    });
    assert_none("these name a culprit by text; use archive::culprit::Culprit", found.collect());
}

#[test]
fn every_exception_is_one() {
    let needless = FOREIGN.iter().filter(|(name, _)| compared(&text(name)).is_empty());
    assert_none("these need no exception any more", needless.map(|(name, _)| (*name).to_owned()).collect());
}

#[test]
fn phrases_are_seen_in_code_and_not_in_its_tests() {
    let code = "if problem.text == \"the run failed\" || text.contains(\"CONFIG_HZ=\") {}\n\
        #[cfg(test)]\nmod tests { assert!(text.contains(\"the run\")); }";
    assert_eq!(compared(code), [(1, "the run failed".to_owned())]);
    assert!(compared("text.contains(\"say \\\"two words\\\" now\")").len() == 1);
    assert!(compared("unit != \"ns\"").is_empty());
}

#[test]
fn rewritten_sentences_and_culprits_by_text_are_seen() {
    assert_eq!(rewritten("\nlet text = text.replace(\"the thread\", name);").len(), 1);
    assert!(rewritten("text.replace('\\n', \" \")").is_empty());
    assert_eq!(culprits_named("if id == \"irqs-off\" {}"), [(1, "\"irqs-off\"".to_owned())]);
    assert_eq!(culprits_named("let own = culprit == \"steal\";"), [(1, "\"steal\"".to_owned())]);
    assert!(culprits_named("all(\"nmi\", \"nmi_handler\")").is_empty(), "an event of the kernel");
    assert!(culprits_named("    name: \"page-fault\",").is_empty(), "a rule of an audit");
}
