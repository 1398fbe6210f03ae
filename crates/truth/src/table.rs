//! Counts verdicts, and lays the counts out.

use crate::verdicts::{Known, Said, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

/// What came of one experiment at one place.
#[derive(Debug)]
pub struct Row {
    pub place: String,
    pub experiment: String,
    pub injections: usize,
    pub verdicts: Vec<Verdict>,
}

impl Row {
    fn known(&self, known: Known) -> impl Iterator<Item = &Verdict> {
        self.verdicts.iter().filter(move |verdict| verdict.known == known)
    }
}

/// The whole table as text, in Markdown.
pub fn text(rows: &[Row]) -> String {
    let mut text = String::from(
        "| where | injected | injections | spikes of them | right first | length right | error, median | named first |\n\
         |---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let injected: Vec<&Verdict> = row.known(Known::Injected).collect();
        let right = injected.iter().filter(|verdict| verdict.right).count();
        let exact = injected.iter().filter(|verdict| verdict.error_is_small).count();
        let mut errors: Vec<i64> = injected.iter().filter_map(|verdict| verdict.error_ns.map(i64::abs)).collect();
        errors.sort_unstable();
        let error = errors.get(errors.len() / 2).map_or("-".into(), |ns| format!("{:.1} µs", *ns as f64 / 1e3));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {} | {} | {error} | {} |",
            row.place,
            row.experiment,
            row.injections,
            injected.len(),
            share(right, injected.len()),
            share(exact, right),
            counted(injected.iter().map(|verdict| words(&verdict.said))),
        );
    }
    let all = || rows.iter().flat_map(|row| &row.verdicts);
    let of = |known: Known| all().filter(move |verdict| verdict.known == known);
    let wrong = |known: Known| of(known).filter_map(|verdict| verdict.wrong.clone()).collect::<Vec<_>>();
    for (what, known) in [
        ("spikes of injections", Known::Injected),
        ("spikes in which an injection has a smaller part", Known::Mixed),
        ("spikes without an injection", Known::Uninjected),
    ] {
        let (count, wrong) = (of(known).count(), wrong(known));
        let said = counted(of(known).map(|verdict| words(&verdict.said)));
        let _ = writeln!(text, "\n{what}: {count}, wrong at likely or certain: {}", share(wrong.len(), count));
        if known == Known::Uninjected && count > 0 {
            let _ = writeln!(text, "named: {said}");
        }
        if !wrong.is_empty() {
            let _ = writeln!(text, "wrong: {}", counted(wrong.into_iter()));
        }
    }
    text
}

fn words(said: &Said) -> String {
    match said {
        Said::Named(culprit) => culprit.clone(),
        Said::NotExplained(Some(culprit)) => format!("({culprit}?)"),
        Said::NotExplained(None) => "(nothing)".into(),
        Said::NoTrace => "(no trace)".into(),
    }
}

/// `12 of 13 (92 %)`.
fn share(part: usize, whole: usize) -> String {
    match whole {
        0 => "-".into(),
        _ => format!("{part} of {whole} ({:.1} %)", part as f64 * 100.0 / whole as f64),
    }
}

/// `12 softirq, 1 (silence?)`, the most frequent first.
fn counted(words: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    words.for_each(|word| *counts.entry(word).or_default() += 1);
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    counts.iter().map(|(word, count)| format!("{count} {word}")).collect::<Vec<_>>().join(", ")
}
