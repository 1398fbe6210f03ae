//! Counts verdicts, lays the counts out, and compares them with what is to be reached.

use crate::verdicts::{Known, Said, Verdict};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Least share of the spikes of a kind whose right culprit is to come first, and of those with the right length.
const RIGHT_PERCENT_MIN: f64 = 95.0;
/// Largest share of the spikes of a kind that may have a wrong culprit above a hint.
const WRONG_PERCENT_MAX: f64 = 1.0;
/// Fewer spikes of a kind show nothing.
const MEASURED_MIN: usize = 10;

/// The result of one experiment at one place.
#[derive(Debug)]
pub struct Row {
    pub place: String,
    pub experiment: &'static str,
    /// For each injection the kind, which is the experiment's own where nothing is drawn.
    pub injected: Vec<&'static str>,
    pub verdicts: Vec<Verdict>,
}

/// The results of all experiments.
#[derive(Debug, Default)]
pub struct Table {
    pub rows: Vec<Row>,
}

/// Injections of one kind, or of several, and what was said of their spikes.
#[derive(Default)]
struct Count<'a> {
    injected: usize,
    measured: Vec<&'a Verdict>,
}

impl<'a> Count<'a> {
    fn add(&mut self, row: &'a Row, kind: impl Fn(&str) -> bool) {
        self.injected += row.injected.iter().filter(|name| kind(name)).count();
        let measured = row.verdicts.iter().filter(|verdict| verdict.known == Known::Injected && kind(verdict.of));
        self.measured.extend(measured);
    }

    fn right(&self) -> usize {
        self.measured.iter().filter(|verdict| verdict.right).count()
    }

    fn wrong(&self) -> usize {
        self.measured.iter().filter(|verdict| verdict.wrong.is_some()).count()
    }

    fn exact(&self) -> usize {
        self.measured.iter().filter(|verdict| verdict.error_is_small).count()
    }

    /// The error of a length in the middle, in % of the time that was injected.
    fn median_error_percent(&self) -> Option<f64> {
        let error =
            |verdict: &&Verdict| Some(verdict.error_ns?.abs() as f64 * 100.0 / verdict.injected_ns.max(1) as f64);
        let mut errors: Vec<f64> = self.measured.iter().filter_map(error).collect();
        errors.sort_by(f64::total_cmp);
        errors.get(errors.len() / 2).copied()
    }

    /// The part of the goal that is not reached.
    fn missed(&self) -> Option<&'static str> {
        let (measured, right) = (self.measured.len(), self.right());
        let percent = |part: usize, whole: usize| part as f64 * 100.0 / whole.max(1) as f64;
        if measured < MEASURED_MIN {
            Some("too few measured")
        } else if percent(right, measured) < RIGHT_PERCENT_MIN {
            Some("too few right")
        } else if percent(self.wrong(), measured) > WRONG_PERCENT_MAX {
            Some("too many wrong")
        } else if percent(self.exact(), right) < RIGHT_PERCENT_MIN {
            Some("too few lengths right")
        } else {
            None
        }
    }

    fn cells(&self) -> String {
        let (measured, right) = (self.measured.len(), self.right());
        format!(
            "{} | {measured} | {} | {} | {} | {} | {}",
            self.injected,
            with_interval(right, measured),
            share(self.wrong(), measured),
            share(self.exact(), right),
            self.median_error_percent().map_or("-".into(), |percent| format!("{percent:.2} %")),
            self.missed().unwrap_or("reached"),
        )
    }
}

const COLUMNS: &str =
    "injected | measured | right first | wrong above a hint | length right | length error, median | goal";

impl Table {
    /// All of it as text, in Markdown.
    pub fn text(&self) -> String {
        format!("{}\n{}", self.by_place(), self.summary())
    }

    /// The counts without the places.
    pub fn summary(&self) -> String {
        let mut text = String::new();
        let _ = write!(text, "| kind | places | {COLUMNS} |\n|---|---|---|---|---|---|---|---|---|\n");
        for (name, places, count) in self.by_kind() {
            let _ = writeln!(text, "| {name} | {places} | {} |", count.cells());
        }
        text += &self.in_all();
        let below = self.below_the_goal();
        text += &match (self.rows.is_empty(), below.is_empty()) {
            (true, _) => "\nNothing was measured.\n".to_owned(),
            (false, true) => "\nThe goal is reached by every kind that was measured.\n".to_owned(),
            (false, false) => format!("\nBelow the goal: {}\n", below.join(", ")),
        };
        text
    }

    /// The kinds and the mixes that do not reach the goal, each with what it misses.
    pub fn below_the_goal(&self) -> Vec<String> {
        let missed = |(name, _, count): (String, usize, Count)| Some(format!("{name} ({})", count.missed()?));
        self.by_kind().into_iter().filter_map(missed).collect()
    }

    /// The named causes at each place.
    fn by_place(&self) -> String {
        let mut text = String::from(
            "| where | experiment | kind | injected | measured | right first | named first |\n|---|---|---|---|---|---|---|\n",
        );
        for row in &self.rows {
            for kind in kinds(row) {
                let mut count = Count::default();
                count.add(row, |name| name == kind);
                let _ = writeln!(
                    text,
                    "| {} | {} | {kind} | {} | {} | {} | {} |",
                    row.place,
                    row.experiment,
                    count.injected,
                    count.measured.len(),
                    share(count.right(), count.measured.len()),
                    counted(count.measured.iter().map(|verdict| words(&verdict.said))),
                );
            }
        }
        text
    }

    /// A count for each kind that was injected alone, all places together; for each mix as a whole; and for each kind that was
    /// drawn, all mixes together.
    fn by_kind(&self) -> Vec<(String, usize, Count<'_>)> {
        let mut counts: Vec<(String, usize, Count)> = Vec::new();
        for row in &self.rows {
            let kinds = kinds(row);
            let mut names: Vec<(String, Option<&str>)> = Vec::new();
            if kinds == [row.experiment] {
                names.push((row.experiment.to_owned(), None));
            } else {
                names.push((format!("{}, all", row.experiment), None));
                names.extend(kinds.iter().map(|&kind| (format!("{kind}, drawn"), Some(kind))));
            }
            for (name, kind) in names {
                let at = counts.iter().position(|(known, ..)| *known == name).unwrap_or(counts.len());
                if at == counts.len() {
                    counts.push((name, 0, Count::default()));
                }
                counts[at].1 += 1;
                counts[at].2.add(row, |name| kind.is_none_or(|kind| kind == name));
            }
        }
        counts
    }

    fn in_all(&self) -> String {
        let mut text = String::new();
        let all = || self.rows.iter().flat_map(|row| &row.verdicts);
        let of = |known: Known| all().filter(move |verdict| verdict.known == known);
        let wrong = |known: Known| {
            of(known).filter_map(|verdict| Some(verdict.wrong.as_ref()?.id().to_owned())).collect::<Vec<_>>()
        };
        for (what, known) in [
            ("spikes of injections", Known::Injected),
            ("spikes in which something else had a part", Known::Mixed),
            ("spikes without an injection", Known::Uninjected),
        ] {
            let (count, wrong) = (of(known).count(), wrong(known));
            let said = counted(of(known).map(|verdict| words(&verdict.said)));
            let _ = writeln!(text, "\n{what}: {count}, wrong at likely or certain: {}", share(wrong.len(), count));
            if known == Known::Injected {
                let right = of(known).filter(|verdict| verdict.right).count();
                let exact = of(known).filter(|verdict| verdict.error_is_small).count();
                let _ = writeln!(text, "right first: {}", with_interval(right, count));
                let _ = writeln!(text, "with the right length: {}", with_interval(exact, right));
            }
            if known == Known::Uninjected && count > 0 {
                let _ = writeln!(text, "named: {said}");
            }
            if !wrong.is_empty() {
                let _ = writeln!(text, "wrong: {}", counted(wrong.into_iter()));
            }
        }
        let judged = of(Known::Injected).chain(of(Known::Uninjected));
        let (wrong, count) = (judged.clone().filter(|verdict| verdict.wrong.is_some()).count(), judged.count());
        let _ =
            writeln!(text, "\nwrong at likely or certain in all that can be judged: {}", with_interval(wrong, count));
        text
    }
}

/// The kinds of a row in the order of their first injection; the experiment itself where nothing was injected.
fn kinds(row: &Row) -> Vec<&'static str> {
    let mut kinds = Vec::new();
    row.injected.iter().for_each(|kind| {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    });
    if kinds.is_empty() {
        kinds.push(row.experiment);
    }
    kinds
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
        Said::Named(culprit) => culprit.id().to_owned(),
        Said::NotExplained(Some(culprit)) => format!("({culprit}?)"),
        Said::NotExplained(None) => "(nothing)".into(),
        Said::NoTrace => "(no trace)".into(),
    }
}

/// `12 of 13 (92.3 %)`.
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

    fn verdict(of: &'static str, right: bool, wrong: bool, error_ns: i64) -> Verdict {
        Verdict {
            spike: 1,
            latency_ns: 1_000_000,
            known: Known::Injected,
            of,
            injected_ns: 1_000_000,
            said: Said::Named("nmi".into()),
            right,
            wrong: wrong.then(|| "nmi".into()),
            error_ns: right.then_some(error_ns),
            error_is_small: right && error_ns <= 50_000,
        }
    }

    fn row(experiment: &'static str, verdicts: Vec<Verdict>) -> Row {
        let injected = verdicts.iter().map(|verdict| verdict.of).collect();
        Row { place: "here".into(), experiment, injected, verdicts }
    }

    fn below(row: Row) -> Vec<String> {
        Table { rows: vec![row] }.below_the_goal()
    }

    #[test]
    fn the_goal_is_a_share_of_names_of_wrong_ones_and_of_lengths() {
        let rows = |count: usize, last: Verdict| {
            let mut verdicts = vec![verdict("stop", true, false, 100); count - 1];
            verdicts.push(last);
            row("stop", verdicts)
        };
        assert!(below(rows(20, verdict("stop", false, false, 0))).is_empty(), "19 of 20 are 95 %");
        assert_eq!(below(rows(19, verdict("stop", false, false, 0))), ["stop (too few right)"]);
        assert_eq!(below(rows(50, verdict("stop", false, true, 0))), ["stop (too many wrong)"]);
        assert!(below(rows(100, verdict("stop", false, true, 0))).is_empty());
        assert_eq!(below(rows(19, verdict("stop", true, false, 60_000))), ["stop (too few lengths right)"]);
        assert_eq!(below(rows(9, verdict("stop", true, false, 0))), ["stop (too few measured)"]);
    }

    #[test]
    fn without_a_measurement_no_goal_is_reached() {
        assert!(Table::default().summary().ends_with("\nNothing was measured.\n"));
    }

    #[test]
    fn a_mix_is_counted_as_a_whole_and_by_what_was_drawn() {
        let mut verdicts = vec![verdict("stop", true, false, 0); 50];
        verdicts.extend(vec![verdict("boost", false, true, 0); 10]);
        let table = Table { rows: vec![row("mix-1", verdicts)] };
        assert_eq!(table.below_the_goal(), ["mix-1, all (too few right)", "boost, drawn (too few right)"]);
        let text = table.text();
        assert!(text.contains("| stop, drawn | 1 | 50 | 50 | 50 of 50"), "{text}");
        assert!(text.contains("| mix-1, all | 1 | 60 | 60 | 50 of 60"), "{text}");
    }
}
