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
    text += &by_experiment(rows);
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
    let judged = of(Known::Injected).chain(of(Known::Uninjected));
    let (wrong, count) = (judged.clone().filter(|verdict| verdict.wrong.is_some()).count(), judged.count());
    let _ = writeln!(text, "\nwrong at likely or certain in all that can be judged: {}", with_interval(wrong, count));
    text
}

/// One line for each experiment, all places together.
fn by_experiment(rows: &[Row]) -> String {
    let mut text = String::from("\n| injected | places | right first | length right |\n|---|---|---|---|\n");
    let mut names: Vec<&str> = Vec::new();
    rows.iter().for_each(|row| {
        if !names.contains(&row.experiment.as_str()) {
            names.push(&row.experiment);
        }
    });
    for name in names {
        let own: Vec<&Row> = rows.iter().filter(|row| row.experiment == name).collect();
        let injected: Vec<&Verdict> = own.iter().flat_map(|row| row.known(Known::Injected)).collect();
        let right = injected.iter().filter(|verdict| verdict.right).count();
        let exact = injected.iter().filter(|verdict| verdict.error_is_small).count();
        let _ = writeln!(
            text,
            "| {name} | {} | {} | {} |",
            own.len(),
            with_interval(right, injected.len()),
            with_interval(exact, right)
        );
    }
    text
}

/// `12 of 13 (92.3 %, 66.7 to 98.6 %)`: the share with its 95 % interval, that of Wilson (1927).
fn with_interval(part: usize, whole: usize) -> String {
    if whole == 0 {
        return "-".into();
    }
    let (least, most) = wilson(part as f64, whole as f64);
    let percent = part as f64 * 100.0 / whole as f64;
    format!("{part} of {whole} ({percent:.1} %, {:.1} to {:.1} %)", least * 100.0, most * 100.0)
}

fn wilson(part: f64, whole: f64) -> (f64, f64) {
    const Z: f64 = 1.959_964;
    let share = part / whole;
    let middle = share + Z * Z / (2.0 * whole);
    let reach = Z * (share * (1.0 - share) / whole + Z * Z / (4.0 * whole * whole)).sqrt();
    let scale = 1.0 + Z * Z / whole;
    (((middle - reach) / scale).max(0.0), ((middle + reach) / scale).min(1.0))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_that_of_the_published_example() {
        // Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263, 15 of 148, 0 of 20.
        for ((part, whole), (least, most)) in
            [((81.0, 263.0), (0.2553, 0.3662)), ((15.0, 148.0), (0.0624, 0.1605)), ((0.0, 20.0), (0.0, 0.1611))]
        {
            let found = wilson(part, whole);
            assert!((found.0 - least).abs() < 5e-5 && (found.1 - most).abs() < 5e-5, "{found:?}");
        }
        assert_eq!(with_interval(0, 0), "-");
    }
}
