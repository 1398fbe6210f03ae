//! Every directory of `corpus/explain` is a case: `spike.json`, `trace.dat` and `expected.txt`; a synthetic one has its
//! events in `events.txt`, from which `trace.dat` is built. `UPDATE_GOLDEN=1` rewrites the derived files.

use crate::trace_builder;
use archive::culprit::Culprit;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::method::{Method, MethodRequest, SampleWord};
use explain::corpus_case::CorpusCase;
use explain::culprits::{CATALOGUE, Entry, Proof};
use explain::{Source, SpikeInput, confidence_word, evidence_window, explain_spike};
use fixtures::repository::repository_path;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Largest `trace.dat` of a case.
const TRACE_BYTES_MAX: usize = 60_000;

pub fn cases() -> Vec<PathBuf> {
    let corpus = repository_path("corpus/explain");
    let entries = std::fs::read_dir(&corpus).unwrap_or_else(|error| panic!("{}: {error}", corpus.display()));
    let mut cases: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    cases.sort();
    cases
}

/// Compares a derived file with the expected one, or rewrites it.
fn check(path: &Path, derived: &[u8]) -> Result<(), String> {
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(path, derived).map_err(|error| format!("{}: {error}", path.display()))?;
        return Ok(());
    }
    match std::fs::read(path) {
        Ok(there) if there == derived => Ok(()),
        Ok(there) => Err(format!("{} differs: {}", path.display(), first_difference(&there, derived))),
        Err(error) => Err(format!("{}: {error}", path.display())),
    }
}

fn first_difference(there: &[u8], derived: &[u8]) -> String {
    let (there, derived) = (String::from_utf8_lossy(there), String::from_utf8_lossy(derived));
    let mut pairs = there.lines().zip(derived.lines()).enumerate();
    match pairs.find(|(_, (one, other))| one != other) {
        Some((index, (one, other))) => format!("line {}:\n  there:   {one}\n  derived: {other}", index + 1),
        None => "one is longer than the other".into(),
    }
}

/// A case read and explained, without writing anything.
pub struct Explained {
    /// `trace.dat` as built from `events.txt`, if the case is synthetic.
    built: Option<Vec<u8>>,
    trace_bytes: usize,
    pub explanation: Explanation,
    window: Vec<String>,
}

pub fn run(directory: &Path) -> Result<Explained, String> {
    let text = std::fs::read_to_string(directory.join("spike.json")).map_err(|error| format!("spike.json: {error}"))?;
    let case: CorpusCase = serde_json::from_str(&text).map_err(|error| format!("spike.json: {error}"))?;
    let events = std::fs::read_to_string(directory.join("events.txt")).ok();
    let built = events.map(|events| trace_builder::trace_dat(&trace_builder::parse(&events, case.spike.sample.due_ns)));
    let trace = match &built {
        Some(built) => built.clone(),
        None => std::fs::read(directory.join("trace.dat")).map_err(|error| format!("trace.dat: {error}"))?,
    };
    let input = case.input((&trace).into());
    let explanation = explain_spike(&input);
    let window = evidence_window(&input);
    let from_file = SpikeInput { trace: Source::Reader(&trace), ..input };
    if explain_spike(&from_file) != explanation || evidence_window(&from_file) != window {
        return Err("another account when the trace is not in memory".into());
    }
    Ok(Explained { built, trace_bytes: trace.len(), explanation, window })
}

fn check_case(directory: &Path) -> Result<(), String> {
    let Explained { built, trace_bytes, explanation, window } = run(directory)?;
    if trace_bytes > TRACE_BYTES_MAX {
        return Err(format!("trace.dat has {trace_bytes} bytes, more than {TRACE_BYTES_MAX}"));
    }
    if let Some(built) = built {
        check(&directory.join("trace.dat"), &built)?;
    }
    if !is_kept_by_an_archive(&explanation) {
        return Err("facts are lost in an archive".into());
    }
    check(&directory.join("expected.txt"), expected(&explanation, &window).as_bytes())
}

/// Whether every sentence has facts, and an explanation that is read back has all of them.
fn is_kept_by_an_archive(explanation: &Explanation) -> bool {
    let read: Explanation = serde_json::from_value(serde_json::to_value(explanation).unwrap()).unwrap();
    read == *explanation
        && explanation.findings.iter().all(|finding| finding.facts.is_some())
        && explanation.elsewhere.len() == explanation.elsewhere_facts.len()
        && explanation.marks.iter().all(|mark| mark.event.is_some())
        && explanation.caveats.iter().all(|caveat| caveat.facts.is_some())
}

fn expected(explanation: &Explanation, window: &[String]) -> String {
    let mut text = String::new();
    for line in window {
        let _ = writeln!(text, "{line}");
    }
    let _ = writeln!(
        text,
        "\nlatency {} ns, median {} ns: {:?}",
        explanation.latency_ns, explanation.median_ns, explanation.status
    );
    for phase in &explanation.phases {
        let _ = writeln!(text, "{:>10} ns  {}", phase.ns, phase.name.title());
        for owner in &phase.owners {
            let _ = writeln!(text, "{:>16} ns  {:?} {}", owner.ns, owner.kind, owner.name);
        }
    }
    if let Some(functions) = &explanation.functions {
        let _ = writeln!(text);
        for held in &functions.held {
            let _ = writeln!(
                text,
                "{:?} of {} ns of {}, {:?}: {}",
                held.ns,
                held.owner_ns,
                held.name,
                held.source,
                held.chain.join(" < ")
            );
        }
        for (what, masked) in [("interrupts", &functions.irqs_off), ("preemption", &functions.preempt_off)] {
            let Some(masked) = masked else { continue };
            let (start_ns, end_ns, ns_max) = (masked.start_ns, masked.end_ns, masked.ns_max);
            let (thread, first, last) = (&masked.thread, &masked.first, &masked.last);
            let _ = writeln!(
                text,
                "{what} off from {start_ns} ns to {end_ns} ns, {ns_max} ns at most: {thread}, {first} to {last}"
            );
        }
    }
    for finding in &explanation.findings {
        let (culprit, confidence) = (&finding.culprit, confidence_word(finding.confidence));
        let _ = writeln!(text, "\n{culprit} ({confidence}, {} ns): {}", finding.ns, finding.sentence);
        for line in &finding.evidence {
            let _ = writeln!(text, "  {line}");
        }
        let _ = writeln!(text, "  confirm: {}\n  fix: {}", finding.confirm, finding.fix);
    }
    for caveat in &explanation.caveats {
        let _ = writeln!(text, "caveat: {caveat}");
    }
    text
}

#[test]
fn every_case_is_explained_as_expected() {
    let cases = cases();
    assert!(cases.len() >= 10, "the corpus is gone");
    let failures: Vec<String> = cases
        .iter()
        .filter_map(|case| check_case(case).err().map(|why| format!("{}: {why}", case.display())))
        .collect();
    assert!(failures.is_empty(), "{}\nUPDATE_GOLDEN=1 rewrites the files", failures.join("\n"));
}

#[test]
fn every_ledger_of_the_corpus_adds_up() {
    for case in cases() {
        let explanation = run(&case).unwrap_or_else(|why| panic!("{}: {why}", case.display())).explanation;
        crate::hostile::adds_up(&explanation, explanation.latency_ns);
    }
}

/// A case named after a culprit must name that culprit first, and above a hint only if recordings prove the culprit.
#[test]
fn cases_named_after_a_culprit_name_it_first() {
    let mut named = 0;
    for case in cases() {
        let name = case.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let of = |entry: &&Entry| name == entry.culprit.id() || name.starts_with(&format!("{}--", entry.culprit));
        let Some(Entry { culprit, about, .. }) = CATALOGUE.iter().find(of) else { continue };
        let explanation = run(&case).unwrap_or_else(|why| panic!("{name}: {why}")).explanation;
        let first = explanation.findings.first().map(|finding| &finding.culprit);
        assert_eq!(first, Some(culprit), "{name}");
        if !matches!(about.proof, Proof::Real { .. }) {
            let status = explanation.status;
            assert_eq!(status, ExplanationStatus::NotExplained, "{name}: a culprit without a recording explained it");
        } else if *culprit != Culprit::SlowReturn {
            assert_eq!(explanation.status, ExplanationStatus::Explained, "{name}");
        }
        named += 1;
    }
    assert!(named >= 10, "only {named} cases are named after a culprit");
}

#[test]
fn the_document_names_cases_that_exist() {
    let document = repository_path("docs/explanation/explaining.md");
    let document = std::fs::read_to_string(document).unwrap();
    let (_, table) = document.split_once("Which cases guard").unwrap();
    let (table, _) = table.split_once("\n\nEach culprit").unwrap();
    let named: Vec<&str> = table.split('`').skip(1).step_by(2).collect();
    assert!(named.len() > 20, "{named:?}");
    let cases = cases();
    let missing: Vec<&&str> = named.iter().filter(|name| !cases.iter().any(|case| case.ends_with(name))).collect();
    assert!(missing.is_empty(), "the corpus has no {missing:?}");
}

/// Corpus cases are wake-ups by a timer; this is what they would say of hand-overs.
#[test]
fn no_text_says_that_a_wake_up_was_due_where_none_was() {
    let sample = MethodRequest::from(Method::Signal).sample();
    let mut begun = 0;
    for directory in cases() {
        let text = std::fs::read_to_string(directory.join("spike.json")).unwrap();
        let case: CorpusCase = serde_json::from_str(&text).unwrap();
        if case.spike.watched.is_some() {
            continue;
        }
        let trace = std::fs::read(directory.join("trace.dat")).unwrap();
        let explanation = explain_spike(&SpikeInput { sample, ..case.input((&trace).into()) });
        let findings = explanation.findings.into_iter();
        let said = findings.flat_map(|one| [vec![one.sentence, one.confirm, one.fix], one.evidence].concat());
        let caveats = explanation.caveats.into_iter().map(|caveat| caveat.text);
        for line in said.chain(explanation.elsewhere).chain(caveats) {
            let of_a_timer = ["wake-up was due", "this one was due", "after it was due", "after due"];
            assert!(!of_a_timer.iter().any(|clause| line.contains(clause)), "{}: {line}", directory.display());
            begun += usize::from(line.contains(sample.begun));
        }
    }
    assert!(begun >= 4, "only {begun} lines name the start of the sample");
}

/// Words of a case's findings about ordinary samples, if their method calls them so.
fn ordinary(directory: &Path, sample: SampleWord) -> String {
    let text = std::fs::read_to_string(directory.join("spike.json")).unwrap();
    let case: CorpusCase = serde_json::from_str(&text).unwrap();
    let trace = std::fs::read(directory.join("trace.dat")).unwrap();
    let explanation = explain_spike(&SpikeInput { sample, ..case.input((&trace).into()) });
    let evidence = explanation.findings.into_iter().flat_map(|finding| finding.evidence);
    evidence.filter(|line| line.starts_with("in ordinary ")).collect()
}

#[test]
fn evidence_calls_ordinary_samples_what_the_method_measures() {
    let directory = repository_path("corpus/explain/memory-contention");
    for method in [Method::Timer, Method::Noise, Method::Signal] {
        let sample = MethodRequest::from(method).sample();
        let evidence = ordinary(&directory, sample);
        assert!(evidence.contains(&format!("in ordinary {} ", sample.many)), "{evidence}");
    }
}
