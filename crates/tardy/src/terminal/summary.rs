//! The summary of a run as a page of text: one sentence, a table, the worst spikes, the problems, the next commands.

use crate::terminal::answer::NO_BOUND;
use crate::terminal::block_requests;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::kernel_tracers::{lay_out_latencies, lay_out_series};
use crate::terminal::page::Page;
use crate::terminal::roles;
use crate::terminal::stimulus;
use crate::terminal::table::{Align, Table};
use crate::terminal::watched;
use archive::problem::{Problem, Remark};
use archive::summary::{CpuSummary, RunSummary, SpikeSummary};
use report::account::{
    culprit, loads, losses, own_share, problems, remarks, tracing, verdict, virtual_speed_words,
    where_codes_are_explained,
};
use report::conditions::{are_known, conditions_line};
use report::watched::is_watch;
use words::figures::{latency, microseconds_rough};
use words::shell::quoted;
use words::vocabulary::{by, sample};

const SPIKES_SHOWN: usize = 5;
/// A narrower terminal gets fewer figures per CPU.
const CPU_TABLE_COLUMNS: usize = 76;
/// CPU, cycles, missed, median, 99 %, maximum.
const NARROW: [usize; 6] = [0, 1, 2, 5, 6, 9];

/// Lays out the summary on a page. `shown`: how the run failed, which is shown elsewhere and left out here.
pub fn summary_page(summary: &RunSummary, shown: Option<&Problem>, mut page: Page) -> Page {
    alarm_of_clock(summary.virtual_time, summary.emulated, &mut page);
    page.wrapped("", &verdict(summary));
    // Problems of the run are listed below. Without samples, the sentence above has said why the numbers cannot be
    // used.
    let listed = |reason: &Remark| summary.problems.iter().chain(shown).any(|problem| Remark::from(problem) == *reason);
    let reasons = summary.invalid_because.iter().filter(|reason| !listed(reason));
    for reason in reasons.filter(|_| !summary.cpus.is_empty()) {
        page.wrapped("  because ", &reason.text);
    }
    if summary.cpus.iter().any(|cpu| cpu.cycles > 0) {
        if are_known(summary) {
            page.wrapped("", &conditions_line(summary));
        }
        page.blank();
        match is_watch(summary) {
            true => watched::tables(summary, &mut page),
            false => cpu_table(summary, &mut page),
        }
        page.wrapped("", &format!("Tracing: {}.", tracing(summary)));
        page.wrapped("", NO_BOUND);
    }
    if let Some(speed) = summary.virtual_speed {
        page.wrapped("", &virtual_speed_words(speed));
    }
    stimulus::lay_out(summary.stimulus_board.as_ref(), &mut page);
    roles::lay_out(summary, &mut page);
    block_requests::lay_out(summary.storage.as_ref(), &mut page);
    lay_out_series(&summary.kernel_series, &mut page);
    match is_watch(summary) {
        true => {
            watched::output_counts(summary, &mut page);
            watched::spikes(summary, &mut page);
        }
        false => worst_spikes(summary, &mut page),
    }
    lay_out_latencies(&summary.latency_traces, &mut page);
    section(&mut page, "Load", &loads(summary));
    section(&mut page, "Lost", &losses(summary));
    if let Some(imported) = &summary.imported {
        section(&mut page, "Not in the source, so unknown here", &texts(&imported.lost));
    }
    section(&mut page, "Differs from the request", &problems(summary));
    section(&mut page, "Missing in the archive", &remarks(&summary.gaps));
    if let Some(line) = where_codes_are_explained(summary) {
        page.blank();
        page.line(line);
    }
    page.blank();
    let commands = next_commands(summary);
    let next = if commands.is_empty() { "" } else { " Next:" };
    page.record(0, &format!("The archive is {}.{next}", quoted(&summary.archive)));
    commands.iter().for_each(|command| page.record(2, command));
    page
}

fn cpu_table(summary: &RunSummary, page: &mut Page) {
    let shown: &[usize] = if page.columns() < CPU_TABLE_COLUMNS { &NARROW } else { &[0, 1, 2, 3, 4, 5, 6, 7, 8, 9] };
    let mut table = Table::new(&[Align::Right; 10]);
    let heads = ["CPU", "cycles", "missed", "min", "mean", "p50", "p99", "p99.9", "p99.99", "max µs"];
    table.row(shown.iter().map(|column| heads[*column]));
    let least = summary.imported.as_ref().is_some_and(|imported| imported.maximum_truncated);
    for cpu in &summary.cpus {
        let row = cpu_row(cpu, least);
        table.row(shown.iter().map(|column| &row[*column]));
    }
    page.headed_table(&table);
}

/// `least`: the maximum is the least that the true one can be.
fn cpu_row(cpu: &CpuSummary, least: bool) -> [String; 10] {
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
        format!("{}{}", if least { "≥ " } else { "" }, microseconds_rough(figures.max)),
    ]
}

fn worst_spikes(summary: &RunSummary, page: &mut Page) {
    let spikes: Vec<&SpikeSummary> = summary.late_spikes().collect();
    if spikes.is_empty() {
        return;
    }
    page.blank();
    page.heading("Worst spikes");
    for entry in spikes.iter().take(SPIKES_SHOWN) {
        let (cpu, late) = (entry.spike.sample.cpu, by(sample(summary), &latency(entry.latency_ns)));
        let text = format!("CPU {cpu}, {late}: {}", culprit(entry.explanation.as_ref()));
        page.wrapped(&format!("  #{:<3} ", entry.spike.number), &text);
    }
    if spikes.len() > SPIKES_SHOWN {
        page.line(&format!("  and {} more", spikes.len() - SPIKES_SHOWN));
    }
    if let Some(share) = own_share(summary) {
        page.wrapped("  ", &share);
    }
}

fn texts(remarks: &[Remark]) -> Vec<String> {
    remarks.iter().map(|remark| remark.text.clone()).collect()
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

/// The commands that show more of a run; without samples none does.
pub fn next_commands(summary: &RunSummary) -> Vec<String> {
    let archive = quoted(&summary.archive);
    if summary.cpus.is_empty() {
        return Vec::new();
    }
    let mut commands = vec![format!("tardy report {archive}")];
    if summary.late_spikes().next().is_some() {
        commands.push(format!("tardy explain {archive} --more"));
    } else if summary.virtual_time && summary.cpus.iter().all(|cpu| cpu.watched.is_none()) {
        // The run can be reproduced exactly, so untraced spikes can still be explained.
        commands.push(format!("tardy virtual record {archive}"));
    }
    commands
}
