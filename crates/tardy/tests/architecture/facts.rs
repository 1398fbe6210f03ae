//! Crates that find facts make no sentences: the crate `words` says them, once for every surface. The sentence of a problem
//! stands beside its code, and the rule of a culprit beside its recognition.

use crate::prose::{content, is_prose, tests_in};
use crate::repository::{assert_none, files_ending, text};
use proc_macro2::{TokenStream, TokenTree};

const CRATES: [&str; 8] = ["account", "chains", "claims", "explain", "judge", "stacks", "storage", "wakeups"];

/// Places whose prose is part of the sentence of a problem, or of a page of the documentation.
const DECLARATIONS: [&str; 2] = ["crates/core/judge/src/refusal.rs", "crates/core/explain/src/recognise/culprits/"];

/// Files with names of several words, under which facts are stored or listed.
const NAMES: [&str; 6] = [
    "crates/core/claims/src/difference_kind.rs",
    "crates/core/claims/src/figure_name.rs",
    "crates/core/explain/src/decide/run_analysis/period.rs",
    "crates/core/explain/src/read/flight/events.rs",
    "crates/core/explain/src/recognise/functions/masked.rs",
    "crates/core/judge/src/bisect.rs",
];

/// Calls whose text nobody reads but a developer.
const DEFECTS: [&str; 5] = ["assert", "debug_assert", "expect", "panic", "unreachable"];

fn walk(tokens: TokenStream, found: &mut Vec<(usize, String)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut called = None;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(name) => called = Some(name.to_string()),
            TokenTree::Punct(mark) if mark.as_char() == '!' => {}
            TokenTree::Punct(_) => called = None,
            TokenTree::Group(group) => {
                let before = &tokens[at.saturating_sub(1)..at];
                let is_attribute = matches!(before, [TokenTree::Punct(mark)] if mark.as_char() == '#')
                    || matches!(&tokens[at.saturating_sub(2)..at], [TokenTree::Punct(one), TokenTree::Punct(_)] if one.as_char() == '#');
                let is_defect = called.take().is_some_and(|call| DEFECTS.contains(&call.as_str()));
                if !is_attribute && !is_defect {
                    walk(group.stream(), found);
                }
            }
            TokenTree::Literal(literal) => {
                let prose = content(&literal.to_string()).filter(|text| is_prose(text));
                found.extend(prose.map(|prose| (literal.span().start().line, prose)));
            }
        }
    }
}

fn sentences(source: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    walk(source.parse().expect("a source is Rust"), &mut found);
    found
}

#[test]
fn crates_of_facts_make_no_sentences() {
    let sources = files_ending(&[".rs"]).filter(|name| {
        CRATES.iter().any(|of| name.starts_with(&format!("crates/core/{of}/src/")))
            && !DECLARATIONS.iter().chain(&NAMES).any(|place| name.starts_with(place))
            && !name.contains("/tests/")
            && !name.ends_with("/tests.rs")
    });
    let mut found = Vec::new();
    for name in sources {
        let source = text(name);
        let (lines, _) = tests_in(name, &source);
        let product: String = source.lines().take(lines).map(|line| format!("{line}\n")).collect();
        found.extend(sentences(&product).into_iter().map(|(line, prose)| format!("{name}:{line}: \"{prose}\"")));
    }
    assert_none("state a fact as a type, and say it in the crate `words`", found);
}

#[test]
fn a_sentence_is_found_wherever_it_is_made() {
    let found = |source: &str| sentences(source).len();
    assert_eq!(found("fn a() -> String { format!(\"nothing was measured at {}\", 1) }"), 1);
    assert_eq!(found("const A: &str = \"the run was not valid\";"), 1);
    assert_eq!(found("/// The run was not valid.\n#[error(\"the run was not valid\")]\nstruct A;"), 0);
    assert_eq!(found("fn a() { b().expect(\"every run has a length\") }"), 0);
}
