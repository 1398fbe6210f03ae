//! The summary of a run as a page for people: one sentence, a table, the worst spikes, what is wrong, what to type next.

use crate::kernel_tracer_text::{lay_out_latencies, lay_out_series, uncovered};
use crate::text::figures::{count, counted, duration, latency, microseconds_rough};
use crate::text::page::Page;
use crate::text::table::{Align, Table};
use crate::text::vocabulary::confidence_word;
use crate::watched_text;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::manifest::{ImportedFrom, RunState};
use archive::message::Severity;
use archive::spike::SpikeReason;
use archive::summary::{CpuSummary, RunSummary, SpikeSummary, VirtualSpeed};

const SPIKES_SHOWN: usize = 5;

/// Lays the summary out on a page. `told` is what broke; it is said elsewhere and left out here.
pub fn summary_page(summary: &RunSummary, told: Option<&str>, mut page: Page) -> Page {
    alarm_of_clock(summary.virtual_time, summary.emulated, &mut page);
    page.wrapped("", &verdict(summary));
    let said_below = |reason: &str| summary.problems.iter().any(|problem| problem.text == reason);
    let untold = |reason: &&String| Some(reason.as_str()) != told && !said_below(reason);
    // Without any samples the sentence above has said why the numbers cannot be used.
    for reason in summary.invalid_because.iter().filter(untold).filter(|_| !summary.cpus.is_empty()) {
        page.wrapped("  because ", reason);
    }
    if summary.cpus.iter().any(|cpu| cpu.cycles > 0) {
        page.blank();
        match watched_text::is_watch(summary) {
            true => watched_text::tables(summary, &mut page),
            false => cpu_table(summary, &mut page),
        }
        page.line(&format!("Recorded meanwhile: {}.", tracing(summary)));
        page.line("A maximum is an observation, not a bound: a longer run may show a larger one.");
    }
    if let Some(speed) = summary.virtual_speed {
        page.wrapped("", &virtual_speed_words(speed));
    }
    lay_out_series(&summary.kernel_series, &mut page);
    match watched_text::is_watch(summary) {
        true => watched_text::spikes(summary, &mut page),
        false => worst_spikes(summary, &mut page),
    }
    lay_out_latencies(&summary.latency_traces, &mut page);
    section(&mut page, "Load", &loads(summary));
    section(&mut page, "Lost", &losses(summary));
    if let Some(imported) = &summary.imported {
        section(&mut page, "Not in the source, so unknown here", &imported.lost);
    }
    section(&mut page, "Not as asked", &problems(summary));
    section(&mut page, "Missing in the archive", &summary.gaps);
    next_commands(summary, &mut page);
    page
}

/// What belongs before figures whose clock was not that of hardware.
pub fn alarm_of_clock(virtual_time: bool, emulated: bool, page: &mut Page) {
    if virtual_time {
        page.alarm("VIRTUAL TIME: these figures count executed instructions; they prove no deadline of hardware.");
    } else if emulated {
        page.alarm("EMULATED MACHINE: these latencies mean nothing as real-time figures.");
    }
}

/// How fast a machine in virtual time went.
pub fn virtual_speed_words(speed: VirtualSpeed) -> String {
    let seconds = |ns: i64| ns as f64 / 1e9;
    format!(
        "{:.1} s of virtual time took {:.1} s of the host, booting included: {:.2} guest seconds a second. Idle time is \
         skipped, not waited for.",
        seconds(speed.guest_ns),
        seconds(speed.host_ns),
        speed.guest_per_host()
    )
}

/// The run in one sentence or two.
fn verdict(summary: &RunSummary) -> String {
    let cycles = summary.cpus.iter().map(|cpu| cpu.cycles).fold(0, u64::saturating_add);
    let mut text = match summary.state {
        RunState::Failed => "The run failed. ".to_owned(),
        RunState::Interrupted => "Stopped early. ".to_owned(),
        RunState::Running if summary.goes_on => "The run goes on. ".to_owned(),
        RunState::Running => "The run was cut off. ".to_owned(),
        RunState::Complete => String::new(),
    };
    if let Some(imported) = &summary.imported {
        text.push_str(&format!("Imported from {}: measured by {}. ", imported.file_name, measured_by(imported)));
    }
    let Some(latest_ns) = summary.all_cpus.max.filter(|_| cycles > 0) else {
        text.push_str(if summary.spikes.is_empty() { "Nothing was measured." } else { "No totals were saved." });
        return text;
    };
    if watched_text::is_watch(summary) {
        text.push_str(&watched_text::verdict(summary));
        push_judgement(summary, &mut text);
        return text;
    }
    let latest_cpu = summary.cpus.iter().max_by_key(|cpu| cpu.latency_ns.max).map_or(0, |cpu| cpu.cpu);
    let within = summary.measured_ns.map_or(String::new(), |ns| format!(" in {}", duration(ns)));
    text.push_str(&format!(
        "{} woke up {} times{within}; the latest wake-up came {} late, on CPU {latest_cpu}.",
        counted(summary.cpus.len() as u64, "CPU"),
        count(cycles),
        latency(latest_ns),
    ));
    push_judgement(summary, &mut text);
    text
}

fn push_judgement(summary: &RunSummary, text: &mut String) {
    if let Some(limit_ns) = summary.settings.as_ref().and_then(|settings| settings.limit_ns) {
        let latencies = summary.cpus.iter().filter(|cpu| !watched_text::is_cycle(cpu));
        let over: u64 = latencies.map(|cpu| cpu.over_limit).sum();
        let times = if over == 0 { "Never".to_owned() } else { counted(over, "time") };
        text.push_str(&format!(" {times} later than the limit of {}.", latency(limit_ns)));
    }
    text.push_str(&watched_text::cycle_judgement(summary));
    if !summary.valid {
        text.push_str(" These numbers must not be used.");
    }
}

/// What was recorded while the figures were taken; every event costs time.
pub fn tracing(summary: &RunSummary) -> String {
    match summary.tracing.as_deref() {
        Some("off") => "nothing (tracing was off)".into(),
        Some(words) => words.into(),
        None => "unknown".into(),
    }
}

/// The tool behind an imported run, with its version where it is known.
pub fn measured_by(imported: &ImportedFrom) -> String {
    match &imported.version {
        Some(version) => format!("{} {version}", imported.tool),
        None => imported.tool.clone(),
    }
}

fn cpu_table(summary: &RunSummary, page: &mut Page) {
    let mut table = Table::new(&[Align::Right; 10]);
    table.row(["CPU", "cycles", "missed", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max µs"]);
    for cpu in &summary.cpus {
        table.row(cpu_row(cpu));
    }
    let lines = table.lines();
    page.heading(&lines[0]);
    lines[1..].iter().for_each(|line| page.line(line));
}

fn cpu_row(cpu: &CpuSummary) -> [String; 10] {
    let figures = &cpu.latency_ns;
    [
        cpu.cpu.to_string(),
        cpu.cycles.to_string(),
        cpu.missed.map_or("-".into(), |missed| missed.to_string()),
        microseconds_rough(figures.min),
        figures.mean.map_or("-".into(), |mean| format!("{:.1}", mean / 1e3)),
        microseconds_rough(figures.p50),
        microseconds_rough(figures.p99),
        microseconds_rough(figures.p99_9),
        microseconds_rough(figures.p99_99),
        microseconds_rough(figures.max),
    ]
}

fn worst_spikes(summary: &RunSummary, page: &mut Page) {
    let spikes: Vec<&SpikeSummary> =
        summary.spikes.iter().filter(|entry| entry.spike.reason != SpikeReason::Control).collect();
    if spikes.is_empty() {
        return;
    }
    page.blank();
    page.heading("Worst spikes");
    for entry in spikes.iter().take(SPIKES_SHOWN) {
        let (cpu, late) = (entry.spike.sample.cpu, latency(entry.latency_ns));
        let text = format!("CPU {cpu}, {late} late: {}", culprit(entry.explanation.as_ref()));
        page.wrapped(&format!("  #{:<3} ", entry.spike.number), &text);
    }
    if spikes.len() > SPIKES_SHOWN {
        page.line(&format!("  and {} more", spikes.len() - SPIKES_SHOWN));
    }
}

/// Who was it, in one sentence.
pub fn culprit(explanation: Option<&Explanation>) -> String {
    let Some(explanation) = explanation else { return "not explained yet".into() };
    let best = explanation.findings.first();
    match (explanation.status, best) {
        (ExplanationStatus::Explained, Some(finding)) => {
            format!("{} ({})", finding.sentence, confidence_word(finding.confidence))
        }
        (ExplanationStatus::NotExplained, Some(finding)) => format!("not explained; best hint: {}", finding.sentence),
        (ExplanationStatus::NoTrace, _) => "no trace to explain it from".into(),
        (_, None) => "not explained".into(),
    }
}

fn loads(summary: &RunSummary) -> Vec<String> {
    let load = |load: &archive::message::LoadReport| {
        let state = if load.alive { "" } else { "; it died" };
        let detail = if load.detail.is_empty() { String::new() } else { format!(" ({})", load.detail) };
        format!("{}: {} {}{state}{detail}", load.name, count(load.progress), load.unit)
    };
    summary.loads.iter().map(load).collect()
}

fn losses(summary: &RunSummary) -> Vec<String> {
    let loss = |loss: &archive::message::Loss| format!("{} {}: {}", count(loss.count), loss.what, loss.detail);
    let dropped: u64 = summary.cpus.iter().map(|cpu| cpu.records_dropped).sum();
    let records = (dropped > 0).then(|| format!("{} records of samples: the meter could not keep up", count(dropped)));
    summary.losses.iter().map(loss).chain(records).chain(uncovered(summary)).collect()
}

/// Everything that did not go as asked, worst first, each with its fix.
pub fn problems(summary: &RunSummary) -> Vec<String> {
    let mut problems: Vec<_> = summary.problems.iter().collect();
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    let line = |problem: &archive::message::Problem| {
        let weight = match problem.severity {
            Severity::Notice => "notice",
            Severity::Degraded => "degraded",
            Severity::Invalid => "invalid",
        };
        let fix = if problem.fix.is_empty() { String::new() } else { format!("; {}", problem.fix) };
        format!("{weight}: {}{fix}", problem.text)
    };
    problems.into_iter().map(line).collect()
}

fn section(page: &mut Page, title: &str, lines: &[String]) {
    if lines.is_empty() {
        return;
    }
    page.blank();
    page.heading(title);
    for line in lines {
        page.wrapped("  ", line);
    }
}

fn next_commands(summary: &RunSummary, page: &mut Page) {
    let archive = quoted(&summary.archive);
    page.blank();
    if summary.cpus.is_empty() {
        page.line(&format!("The archive is {archive}."));
        return;
    }
    page.line(&format!("The archive is {archive}. Next:"));
    page.line(&format!("  tardy report {archive}"));
    if summary.spikes.iter().any(|entry| entry.spike.reason != SpikeReason::Control) {
        page.line(&format!("  tardy explain {archive}"));
    } else if summary.virtual_time && summary.cpus.iter().all(|cpu| cpu.watched.is_none()) {
        // The run comes out the same again, so what was not traced can still be explained.
        page.line(&format!("  tardy record {archive}"));
    }
}

/// A path as a shell takes it.
pub fn quoted(path: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:,@%".contains(letter);
    if !path.is_empty() && path.chars().all(plain) { path.into() } else { format!("'{}'", path.replace('\'', "'\\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_survive_a_shell() {
        assert_eq!(quoted("runs/2026-11-21T21-30-05-pi"), "runs/2026-11-21T21-30-05-pi");
        assert_eq!(quoted("my runs/it's"), "'my runs/it'\\''s'");
    }
}
