//! The summary of watched threads for people: a table for each kind of series, the worst of each, and their causes.

use crate::text::figures::{count, counted, duration, latency, microseconds_rough};
use crate::text::page::Page;
use crate::text::table::{Align, Table};
use crate::text::vocabulary::confidence_word;
use archive::explanation::{Confidence, Explanation, ExplanationStatus};
use archive::settings::Policy;
use archive::spike::SpikeReason;
use archive::summary::{CpuSummary, RunSummary, SpikeSummary};
use archive::watched::{WatchSettings, WatchedKind, WatchedSeries};
use std::collections::BTreeMap;

const SERIES_SHOWN: usize = 12;
const FINDINGS_SHOWN: usize = 3;
/// Every kind of series, in the order they are shown.
pub const KINDS: [WatchedKind; 3] = [WatchedKind::Timer, WatchedKind::Cycle, WatchedKind::Woken];

/// Whether a run watched another program.
pub fn is_watch(summary: &RunSummary) -> bool {
    request(summary).is_some()
}

fn request(summary: &RunSummary) -> Option<&WatchSettings> {
    summary.settings.as_ref()?.watch.as_ref()
}

/// Whom it watched, as it was asked for.
pub fn whom(summary: &RunSummary) -> String {
    match request(summary) {
        Some(WatchSettings { command, .. }) if !command.is_empty() => command.join(" "),
        Some(WatchSettings { comm: Some(name), .. }) => format!("threads called {name}"),
        Some(WatchSettings { pid: Some(pid), .. }) => format!("process {pid}"),
        _ => "nobody".into(),
    }
}

/// `arm-high-4711`.
pub fn thread_name(series: &WatchedSeries) -> String {
    format!("{}-{}", series.name, series.tid)
}

/// What a sample of a kind of series is.
pub fn meaning(kind: WatchedKind) -> &'static str {
    match kind {
        WatchedKind::Timer => "timer wake-ups: from the instant asked for until the thread was given the CPU",
        WatchedKind::Cycle => "cycles: from being given the CPU by a timer until the next timer was set",
        WatchedKind::Woken => "other wake-ups: from being woken until the thread was given the CPU",
    }
}

/// The run in a sentence or two.
pub fn verdict(summary: &RunSummary) -> String {
    let of = |kind| series(summary, kind).map(|(cpu, _)| cpu.cycles).fold(0, u64::saturating_add);
    let threads: std::collections::BTreeSet<i32> =
        summary.cpus.iter().filter_map(|cpu| Some(cpu.watched.as_ref()?.tid)).collect();
    let within = summary.measured_ns.map_or(String::new(), |ns| format!(" in {}", duration(ns)));
    let mut text = format!("Watched {}: {}", whom(summary), counted(threads.len() as u64, "thread"));
    if threads.is_empty() {
        text.push_str(", none of which woke up.");
        return text;
    }
    text.push_str(&format!(
        " woke up {} times by timers and {} times otherwise{within}",
        count(of(WatchedKind::Timer)),
        count(of(WatchedKind::Woken))
    ));
    let kind = if of(WatchedKind::Timer) > 0 { WatchedKind::Timer } else { WatchedKind::Woken };
    let latest = series(summary, kind).max_by_key(|(cpu, _)| cpu.latency_ns.max);
    if let Some((cpu, watched)) = latest
        && let Some(ns) = cpu.latency_ns.max
    {
        text.push_str(&format!("; the latest {} came {} late ({})", kind.title(), latency(ns), thread_name(watched)));
    }
    text.push('.');
    text
}

/// Whether a series is one of cycles, which are no latencies.
pub fn is_cycle(cpu: &CpuSummary) -> bool {
    cpu.watched.as_ref().is_some_and(|watched| watched.kind == WatchedKind::Cycle)
}

/// How many cycles were longer than asked for, as a sentence; empty when nothing was asked.
pub fn cycle_judgement(summary: &RunSummary) -> String {
    let Some(limit_ns) = request(summary).and_then(|request| request.cycle_limit_ns) else { return String::new() };
    let over: u64 = summary.cpus.iter().filter(|cpu| is_cycle(cpu)).map(|cpu| cpu.over_limit).sum();
    match over {
        0 => format!(" No cycle took longer than {}.", latency(limit_ns)),
        _ => format!(" {} took longer than {}.", counted(over, "cycle"), latency(limit_ns)),
    }
}

fn series(summary: &RunSummary, kind: WatchedKind) -> impl Iterator<Item = (&CpuSummary, &WatchedSeries)> {
    summary.cpus.iter().filter_map(move |cpu| Some((cpu, cpu.watched.as_ref().filter(|watched| watched.kind == kind)?)))
}

/// A table for each kind, those with the largest maxima when there are many threads.
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
        page.heading(&upper_first(meaning(kind)));
        let mut table = Table::new(&[
            Align::Left,
            Align::Left,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
            Align::Right,
        ]);
        let overran = if kind == WatchedKind::Timer { "overran" } else { "" };
        table.row(["thread", "runs as", "count", overran, "min", "mean", "p50", "p99", "max µs"]);
        for (cpu, watched) in rows {
            table.row(row(cpu, watched));
        }
        table.lines().iter().for_each(|line| page.line(line));
        if unshown > 0 {
            page.line(&format!("and {unshown} more with smaller maxima"));
        }
    }
    page_faults(summary, page);
}

fn upper_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

fn row(cpu: &CpuSummary, watched: &WatchedSeries) -> [String; 9] {
    let figures = &cpu.latency_ns;
    let overran = if watched.kind == WatchedKind::Timer { watched.late_arms.to_string() } else { String::new() };
    [
        thread_name(watched),
        runs_as(watched),
        cpu.cycles.to_string(),
        overran,
        microseconds_rough(figures.min),
        figures.mean.map_or("-".into(), |mean| format!("{:.1}", mean / 1e3)),
        microseconds_rough(figures.p50),
        microseconds_rough(figures.p99),
        microseconds_rough(figures.max),
    ]
}

/// The policy of a thread in few letters, `fifo 80`.
pub fn runs_as(watched: &WatchedSeries) -> String {
    match watched.policy {
        Some(Policy::Fifo) => format!("fifo {}", watched.priority),
        Some(Policy::Rr) => format!("rr {}", watched.priority),
        Some(Policy::Deadline) => "deadline".into(),
        Some(Policy::Other) => "other".into(),
        None => "?".into(),
    }
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

/// The worst sample of each series that has a trace, with everything that was found, and then the causes of all.
pub fn spikes(summary: &RunSummary, page: &mut Page) {
    let spikes: Vec<&SpikeSummary> =
        summary.spikes.iter().filter(|entry| entry.spike.reason != SpikeReason::Control).collect();
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
        .map(|finding| format!("{} ({})", finding.sentence, confidence_word(finding.confidence)));
    match explanation.status {
        ExplanationStatus::NoTrace => vec!["no trace to explain it from".into()],
        ExplanationStatus::NotExplained => ["not explained".to_owned()].into_iter().chain(lines).collect(),
        ExplanationStatus::Explained => lines.collect(),
    }
}

/// Every cause that was found, of which thread, how often, and how much of a spike it took at most.
fn causes(spikes: &[&SpikeSummary], summary: &RunSummary, page: &mut Page) {
    let mut sums: BTreeMap<(&str, String), (u64, i64)> = BTreeMap::new();
    for entry in spikes {
        let watched =
            summary.cpus.iter().find(|cpu| cpu.thread == entry.spike.thread).and_then(|cpu| cpu.watched.as_ref());
        let (Some(watched), Some(explanation)) = (watched, &entry.explanation) else { continue };
        for finding in explanation.findings.iter().filter(|finding| finding.confidence > Confidence::Hint) {
            let sum = sums.entry((&finding.culprit, thread_name(watched))).or_default();
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
    table.lines().iter().for_each(|line| page.line(line));
}
