//! The catalogue matches its documentation: docs/reference/culprits.md is generated from it, and the corpus contains
//! the proofs.

use archive::culprit::Culprit;
use explain::culprits::{About, CATALOGUE, Entry, Proof};
use explain::recording::{RecordedItem, Recording};
use fixtures::repository::repository_path;
use std::collections::BTreeSet;
use std::fmt::Write;
use words::culprits::Advice;
use words::sentence::capital;

const INTRODUCTION: &str = "\
# The culprits

<!-- Written from crates/core/explain/src/recognise/culprits by UPDATE_GOLDEN=1 cargo test -p explain catalogue; do not edit. -->

What `tardy explain` can name, in the order in which it asks: the first that fits gets the time, so the more specific
stands before the more general. [How a spike is explained](../explanation/explaining.md) says what a finding must prove, and
[adding a culprit](../how-to/adding-a-culprit.md) how this list grows.

*Proof* says what recognising it rests on: a recorded trace in the corpus, a trace that was made up from what kernels
record, or nothing yet. Without a recorded trace a culprit is at most a hint, and never makes a spike explained.
";

/// Cases named after a culprit: those with a trace of a real machine, and synthetic ones.
fn cases(culprit: &Culprit) -> (usize, usize) {
    let id = culprit.id();
    let (mut real, mut made_up) = (0, 0);
    for entry in std::fs::read_dir(repository_path("corpus/explain")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name == id || name.strip_prefix(id).is_some_and(|rest| rest.starts_with("--")) {
            if entry.path().join("events.txt").exists() { made_up += 1 } else { real += 1 }
        }
    }
    (real, made_up)
}

fn document() -> String {
    let mut text = INTRODUCTION.to_owned();
    text += "\n| culprit | what it is | proof |\n|---|---|---|\n";
    for Entry { culprit, about, .. } in CATALOGUE {
        let title = advice(culprit).title;
        let _ = writeln!(text, "| [{culprit}](#{culprit}) | {title} | {} |", about.proof.words());
    }
    for Entry { culprit, about, .. } in CATALOGUE {
        let advice = advice(culprit);
        let _ = write!(
            text,
            "\n## {culprit}\n\n{}.\n\n- Recognised: {}.\n- Proven by: {}.\n- Confirm: {}.\n- Fix: {}.\n- Kernel documentation: {}.\n- Proof: {}.\n{}",
            capital(advice.title),
            about.recognised,
            proven_by(about),
            advice.confirm,
            advice.fix,
            about.reading.iter().map(|title| format!("*{title}*")).collect::<Vec<_>>().join(", "),
            about.proof.words(),
            refuted_by(about)
        );
    }
    text
}

fn advice(culprit: &Culprit) -> &'static Advice {
    words::culprits::advice(culprit).unwrap()
}

fn proven_by(about: &About) -> String {
    let events: Vec<String> = about.events.iter().map(|event| event.replace('|', " or ")).collect();
    let events = if events.is_empty() { String::new() } else { format!("{}: ", events.join(", and ")) };
    format!("{events}{}; {} at most", about.shows, explain::confidence_word(about.proof.at_most()))
}

fn refuted_by(about: &About) -> String {
    let parts: Vec<&str> = about.refuted_by.iter().map(|part| part.words()).collect();
    if parts.is_empty() {
        return String::new();
    }
    format!("- Only a hint where a recording of another tool lacks one of these: {}.\n", parts.join("; "))
}

/// Names of the events in a trace.
fn recorded(trace: &[u8]) -> BTreeSet<String> {
    let recording = Recording::open(trace);
    let items = recording.cpus().into_iter().flat_map(|cpu| recording.items(cpu));
    let names = items.filter_map(|item| match item {
        RecordedItem::Event(event) => Some(event.name().to_owned()),
        RecordedItem::Lost { .. } => None,
    });
    names.collect()
}

#[test]
fn the_document_says_what_the_catalogue_says() {
    let path = repository_path("docs/reference/culprits.md");
    let text = document();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let there = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/reference/culprits.md is stale; UPDATE_GOLDEN=1 cargo test -p explain catalogue writes it again"
    );
}

#[test]
fn every_culprit_has_the_proof_it_claims() {
    let mut wrong = Vec::new();
    for Entry { culprit, about, .. } in CATALOGUE {
        let (real, made_up) = cases(culprit);
        let kept = match about.proof {
            Proof::Real { .. } => real > 0,
            Proof::MadeUp => made_up > 0 && real == 0,
            Proof::Unproven => real == 0,
        };
        if !kept {
            wrong.push(format!(
                "{culprit} claims {:?} and has {real} real and {made_up} made-up cases in corpus/explain",
                about.proof
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_culprit_says_everything_once() {
    let mut ids: Vec<&str> = CATALOGUE.iter().map(|entry| entry.culprit.id()).collect();
    ids.sort_unstable();
    assert!(ids.windows(2).all(|pair| pair[0] != pair[1]), "two culprits have one identifier");
    for Entry { culprit: id, about, .. } in CATALOGUE {
        let Advice { title, confirm, fix } = advice(id);
        let words = [title, about.recognised, about.shows, confirm, fix];
        assert!(
            words.iter().all(|words| !words.is_empty() && !words.ends_with('.')),
            "{id}: empty, or ends with a dot"
        );
        assert!(!about.reading.is_empty(), "{id}: no kernel documentation");
    }
}

#[test]
fn every_culprit_is_proven_by_events_that_are_recorded() {
    let meter = std::fs::read_to_string(repository_path("crates/measure/meter/src/trace/events.rs")).unwrap();
    let functions_only = ["function", "mm_page_alloc", "rss_stat"];
    let known = |event: &str| functions_only.contains(&event) || meter.contains(&format!("\"{event}\""));
    for Entry { culprit, about, .. } in CATALOGUE {
        let events = about.events.iter().flat_map(|event| event.split('|'));
        let unknown: Vec<&str> = events.filter(|event| !known(event)).collect();
        assert!(unknown.is_empty(), "{culprit}: nobody records {unknown:?}");
    }
}

/// A case named after a culprit has the events that are documented to prove it.
#[test]
fn the_corpus_has_the_events_that_prove_its_culprits() {
    let mut missing = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(repository_path("corpus/explain")).unwrap().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let of = |id: &str| name == id || name.strip_prefix(id).is_some_and(|rest| rest.starts_with("--"));
        let Some(Entry { about, .. }) = CATALOGUE.iter().find(|known| of(known.culprit.id())) else { continue };
        let there = recorded(&std::fs::read(entry.path().join("trace.dat")).unwrap_or_default());
        let flight = there.is_empty();
        for event in about.events.iter().filter(|_| !flight) {
            seen += 1;
            if !event.split('|').any(|one| there.contains(one)) {
                missing.push(format!("{name} has no {event}"));
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    assert!(seen > 100, "the corpus is gone");
}
