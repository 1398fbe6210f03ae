//! The summary of watched threads: a table for each kind of series, the worst of each, and their causes.

use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use archive::explanation::{Confidence, Explanation, ExplanationStatus};
use archive::summary::{CpuSummary, RunSummary, SpikeSummary};
use archive::watched::{WatchedKind, WatchedSeries};
use report::counted::{beside, when};
use report::watched::{KINDS, meaning, runs_as, series, thread_name};
use std::collections::BTreeMap;
use words::figures::{count, counted, latency, microseconds_rough};
use words::sentence::capital;
use words::vocabulary::confidence_phrase;

const SERIES_SHOWN: usize = 12;
const FINDINGS_SHOWN: usize = 3;
const LINES_SHOWN: usize = 5;
/// Columns of a table, and of a table of wake-ups by timers only.
const HEADS: [&str; 9] = ["thread", "runs as", "count", "overran", "min", "mean", "p50", "p99", "max µs"];
const OVERRAN: usize = 3;
/// Columns that a terminal narrower than this does not show.
const IN_WIDE: [usize; 3] = [4, 5, 6];
const WIDE: usize = 80;

/// A table for each kind; if there are many threads, those with the largest maxima.
pub fn tables(summary: &RunSummary, page: &mut Page) {
    for kind in KINDS {
        let mut rows: Vec<_> = series(summary, kind).collect();
        if rows.is_empty() {
            continue;
        }
        rows.sort_by_key(|(cpu, watched)| (std::cmp::Reverse(cpu.latency_ns.max), watched.tid));
        let unshown = rows.len().saturating_sub(SERIES_SHOWN);
        rows.truncate(SERIES_SHOWN);
        page.blank();
        page.heading(&capital(meaning(kind)));
        let shown: Vec<usize> = (0..HEADS.len())
            .filter(|column| *column != OVERRAN || kind == WatchedKind::Timer)
            .filter(|column| page.columns() >= WIDE || !IN_WIDE.contains(column))
            .collect();
        let aligns: Vec<Align> =
            shown.iter().map(|column| if *column < 2 { Align::Left } else { Align::Right }).collect();
        let mut table = Table::new(&aligns);
        table.row(shown.iter().map(|column| HEADS[*column]));
        for (cpu, watched) in rows {
            let row = row(cpu, watched);
            table.row(shown.iter().map(|column| &row[*column]));
        }
        page.table(&table);
        if unshown > 0 {
            page.wrapped("", &format!("and {unshown} more with smaller maxima"));
        }
    }
    page_faults(summary, page);
}

fn row(cpu: &CpuSummary, watched: &WatchedSeries) -> [String; 9] {
    let figures = &cpu.latency_ns;
    [
        thread_name(watched),
        runs_as(watched),
        cpu.cycles.to_string(),
        watched.late_arms.to_string(),
        microseconds_rough(figures.min),
        figures.mean.map_or("-".into(), |mean| format!("{:.1}", mean / 1e3)),
        microseconds_rough(figures.p50),
        microseconds_rough(figures.p99),
        microseconds_rough(figures.max),
    ]
}

fn page_faults(summary: &RunSummary, page: &mut Page) {
    let mut lines = BTreeMap::new();
    for cpu in &summary.cpus {
        let Some(watched) = &cpu.watched else { continue };
        let Some(faults) = watched.page_faults.filter(|faults| faults.minor + faults.major > 0) else { continue };
        let waited =
            if faults.major > 0 { format!(", {} of them for a device", count(faults.major)) } else { String::new() };
        let all = faults.minor.saturating_add(faults.major);
        lines.insert(watched.tid, format!("{}: {}{waited}", thread_name(watched), counted(all, "page fault")));
    }
    if lines.is_empty() {
        return;
    }
    page.blank();
    page.heading("Page faults after the first wake-up");
    lines.values().for_each(|line| page.wrapped("  ", line));
}

/// Lines of the command's output, each with the late wake-up before it.
pub fn output_counts(summary: &RunSummary, page: &mut Page) {
    if summary.counted.is_empty() {
        return;
    }
    page.blank();
    page.heading(report::counted::TITLE);
    for text in &summary.counted {
        page.wrapped("  ", &report::counted::headline(text));
        for line in text.lines.iter().take(LINES_SHOWN) {
            page.wrapped("    ", &format!("{}, {}: {}", when(line), beside(line, summary), line.line));
        }
        let unshown = text.count.saturating_sub(text.lines.len().min(LINES_SHOWN) as u64);
        if unshown > 0 {
            page.line(&format!("    and {} more", count(unshown)));
        }
    }
    if summary.counted.iter().any(|text| report::counted::reservation(text).is_some()) {
        page.wrapped("  ", report::counted::NO_PROOF);
    }
}

/// The worst sample of each series that has a trace, with all its findings, then the causes of all.
pub fn spikes(summary: &RunSummary, page: &mut Page) {
    let spikes: Vec<&SpikeSummary> = summary.late_spikes().collect();
    let mut shown: Vec<(&CpuSummary, &WatchedSeries, &SpikeSummary)> = summary
        .cpus
        .iter()
        .filter_map(|cpu| {
            let largest =
                spikes.iter().filter(|entry| entry.spike.thread == cpu.thread).max_by_key(|entry| entry.latency_ns);
            Some((cpu, cpu.watched.as_ref()?, *largest?))
        })
        .collect();
    if shown.is_empty() {
        return;
    }
    let place = |kind: WatchedKind| KINDS.iter().position(|known| *known == kind);
    shown.sort_by_key(|(_, watched, entry)| (place(watched.kind), std::cmp::Reverse(entry.latency_ns)));
    page.blank();
    page.heading("The worst of each");
    for (_, watched, entry) in shown.iter().take(SERIES_SHOWN) {
        let lateness = match watched.kind {
            WatchedKind::Cycle => format!("{}, a cycle of {}", thread_name(watched), latency(entry.latency_ns)),
            kind => format!("{}, {} {} late", thread_name(watched), kind.title(), latency(entry.latency_ns)),
        };
        page.wrapped(&format!("  #{:<3} ", entry.spike.number), &format!("{lateness}:"));
        for line in findings(entry.explanation.as_ref()) {
            page.wrapped("       ", &line);
        }
    }
    if shown.len() > SERIES_SHOWN {
        page.line(&format!("  and {} more series", shown.len() - SERIES_SHOWN));
    }
    causes(&spikes, summary, page);
}

fn findings(explanation: Option<&Explanation>) -> Vec<String> {
    let Some(explanation) = explanation else { return vec!["not explained yet".into()] };
    let lines = explanation
        .findings
        .iter()
        .take(FINDINGS_SHOWN)
        .map(|finding| format!("{} ({})", finding.sentence, confidence_phrase(finding.confidence)));
    match explanation.status {
        ExplanationStatus::NoTrace => vec!["no trace to explain it from".into()],
        ExplanationStatus::NotExplained => ["not explained".to_owned()].into_iter().chain(lines).collect(),
        ExplanationStatus::Explained if explanation.findings.is_empty() => {
            vec![format!("as late as its ordinary wake-ups ({})", latency(explanation.median_ns))]
        }
        ExplanationStatus::Explained => lines.collect(),
    }
}

/// Every cause: its thread, its number of spikes, and its largest share of a spike.
fn causes(spikes: &[&SpikeSummary], summary: &RunSummary, page: &mut Page) {
    let mut sums: BTreeMap<(&str, String), (u64, i64)> = BTreeMap::new();
    for entry in spikes {
        let watched =
            summary.cpus.iter().find(|cpu| cpu.thread == entry.spike.thread).and_then(|cpu| cpu.watched.as_ref());
        let (Some(watched), Some(explanation)) = (watched, &entry.explanation) else { continue };
        for finding in explanation.findings.iter().filter(|finding| finding.confidence > Confidence::Hint) {
            let sum = sums.entry((finding.culprit.id(), thread_name(watched))).or_default();
            *sum = (sum.0 + 1, sum.1.max(finding.ns));
        }
    }
    if sums.is_empty() {
        return;
    }
    let mut rows: Vec<_> = sums.into_iter().collect();
    rows.sort_by_key(|(_, (_, ns))| std::cmp::Reverse(*ns));
    page.blank();
    page.heading("Causes in all spikes");
    let mut table = Table::new(&[Align::Left, Align::Left, Align::Right, Align::Right]);
    table.row(["  cause", "thread", "spikes", "up to"]);
    for ((culprit, thread), (spikes, ns)) in rows {
        table.row([format!("  {culprit}"), thread, spikes.to_string(), latency(ns)]);
    }
    page.table(&table);
}
