//! The result of an experiment as a page of text.

use crate::measuring::rounds::RoundsState;
use crate::measuring::rounds::versus::Journal;
use crate::measuring::variant::Variant;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use claims::unit::Unit;
use judge::experiment::{ExperimentResult, MetricResult};
use judge::sign_flip::Interval;
use std::path::Path;
use words::figures::{count, counted, latency};
use words::printable::printable;
use words::shell::quoted;

pub fn lay_out(directory: &Path, journal: &Journal, mut page: Page) -> Page {
    alarm_of_clock(journal.virtual_time, journal.emulated, &mut page);
    match journal.rounds.state {
        RoundsState::Failed => {
            let why = journal.rounds.problem.as_deref().unwrap_or("unknown");
            page.wrapped("", &format!("The series failed: {why}."));
        }
        RoundsState::Interrupted | RoundsState::Running => page.wrapped("", "Stopped early."),
        RoundsState::Complete => {}
    }
    if let Some(name) = &journal.question.name {
        page.heading(&printable(name));
    }
    page.wrapped("A  ", &described(&journal.question.a));
    page.wrapped("B  ", &described(&journal.question.b));
    if alike(&journal.question.a, &journal.question.b) {
        page.wrapped("", "Both are the same: this measures the noise floor.");
    }
    page.blank();
    match &journal.result {
        Some(result) => figures(result, &mut page),
        None => page.wrapped("", "No round is complete: nothing can be said."),
    }
    if let (voids @ 1.., Some(last)) = journal.rounds.voids() {
        page.wrapped("", &format!("{} discarded; the last one: {last}.", counted(voids as u64, "round")));
    }
    page.blank();
    let directory = quoted(&directory.display().to_string());
    page.record(0, &format!("Archives and experiment.json are in {directory} (--coin-seed {}).", journal.rounds.seed));
    if !matches!(journal.rounds.state, RoundsState::Complete) {
        page.line(&format!("  tardy experiment --resume {directory}"));
    }
    page
}

pub fn described(variant: &Variant) -> String {
    let options = if variant.options.is_empty() { "shared options only" } else { &variant.options };
    match &variant.before {
        Some(before) => format!("{options}, after `{before}`"),
        None => options.to_owned(),
    }
}

fn p_value(p: f64) -> String {
    if p < 0.0005 { "<0.001".into() } else { format!("{p:.3}") }
}

pub fn alike(a: &Variant, b: &Variant) -> bool {
    (&a.target, &a.settings, &a.before) == (&b.target, &b.settings, &b.before)
}

fn figures(result: &ExperimentResult, page: &mut Page) {
    page.wrapped("", &result.sentence);
    page.blank();
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Left]);
    table.row(["", "A", "B", "B / A", "p", ""]);
    for metric in std::iter::once(&result.primary).chain(&result.secondary) {
        if metric.of_load().is_none() {
            table.row(row(metric));
        }
    }
    page.headed_table(&table);
    if let Some(sentence) = words::claims::experiment::error_shares(result) {
        page.wrapped("", &sentence);
    }
    work(result, page);
    let differing = result.culprits.iter().filter(|culprit| culprit.differs);
    for culprit in differing {
        let rounds = result.rounds;
        let text =
            format!("{}: in {} of {rounds} runs of B, in {} of {rounds} of A.", culprit.culprit, culprit.b, culprit.a);
        page.wrapped("cause ", &text);
    }
}

/// The cost of B: the throughput of the same loads with and without it.
fn work(result: &ExperimentResult, page: &mut Page) {
    let loads: Vec<&MetricResult> = result.secondary.iter().filter(|metric| metric.of_load().is_some()).collect();
    if loads.is_empty() {
        return;
    }
    page.blank();
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Left, Align::Left]);
    table.row(["the same work", "A", "B", "change", &format!("at {:.0} %", result.confidence * 100.0), ""]);
    for metric in loads {
        let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
        let estimate = metric.ratio.as_ref();
        let interval = estimate.and_then(|estimate| estimate.interval);
        table.row([
            format!("{}, {}", metric.of_load().unwrap_or_default(), metric.metric.unit),
            count(metric.a.round() as u64),
            count(metric.b.round() as u64),
            estimate.map_or("-".into(), |estimate| percent(estimate.value)),
            interval.map_or("-".into(), |ends| format!("{} to {}", percent(ends.low), percent(ends.high))),
            if metric.differs { "differs".into() } else { "not shown to differ".into() },
        ]);
    }
    page.headed_table(&table);
    page.wrapped(
        "",
        "Units of work a second, means over the rounds; whether they differ is corrected for the number of figures.",
    );
    page.blank();
}

fn row(result: &MetricResult) -> [String; 6] {
    let amount = |value: f64| match result.metric.unit {
        Unit::Nanoseconds => latency(value.round() as i64),
        Unit::PerRun => format!("{value:.1}"),
        _ => count(value.round() as u64),
    };
    let name = match &result.metric.unit {
        Unit::Nanoseconds | Unit::PerRun => result.metric.name.to_string(),
        unit => format!("{}, {unit}", result.metric.name),
    };
    let ends = |interval: Interval| format!(" [{:.3}, {:.3}]", interval.low, interval.high);
    let ratio = result
        .ratio
        .as_ref()
        .map_or("-".into(), |ratio| format!("{:.3}{}", ratio.value, ratio.interval.map_or(String::new(), ends)));
    [
        name,
        amount(result.a),
        amount(result.b),
        ratio,
        p_value(result.p_adjusted),
        if result.differs { "differs".into() } else { String::new() },
    ]
}
