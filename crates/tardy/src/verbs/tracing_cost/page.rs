//! The result of a series as a page of text.

use super::question::Journal;
use crate::measuring::rounds::RoundsState;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use claims::unit::Unit;
use judge::observer::{Estimate, FigureCost, LevelCost, ObserverEffect};
use std::path::Path;
use words::figures::{counted, duration, latency};
use words::shell::quoted;

pub fn lay_out(directory: &Path, journal: &Journal, mut page: Page) -> Page {
    if journal.virtual_time {
        alarm_of_clock(true, true, &mut page);
    } else if journal.emulated {
        page.alarm("EMULATED MACHINE: costs in ns mean nothing here; which levels work does.");
    }
    match journal.rounds.state {
        RoundsState::Failed => {
            page.wrapped("", &format!("The series failed: {}.", journal.rounds.problem.as_deref().unwrap_or("unknown")))
        }
        RoundsState::Interrupted | RoundsState::Running => page.wrapped("", "Stopped early."),
        RoundsState::Complete => {}
    }
    match &journal.result {
        Some(result) => figures(journal, result, &mut page),
        None => page.wrapped("", "No round is complete: nothing can be said."),
    }
    for absent in &journal.question.levels_absent {
        page.wrapped(&format!("{}: ", absent.level.name()), &absent.why);
    }
    if let (voids @ 1.., Some(last)) = journal.rounds.voids() {
        page.wrapped("", &format!("{} discarded; the last one: {last}.", counted(voids as u64, "round")));
    }
    page.blank();
    let directory = quoted(&directory.display().to_string());
    page.record(0, &format!("Archives and observe.json are in {directory}."));
    if !matches!(journal.rounds.state, RoundsState::Complete) {
        page.line(&format!("  tardy experiment tracing-cost --resume {directory}"));
    }
    page
}

fn figures(journal: &Journal, result: &ObserverEffect, page: &mut Page) {
    let length = journal
        .question
        .settings
        .duration_ns
        .map_or(String::new(), |ns| format!(" of {}", duration(i64::try_from(ns).unwrap_or(i64::MAX))));
    page.wrapped(
        "",
        &format!(
            "Cost of recording on {}: {}, each with one run{length} at every level ({}), in an order that a coin decided (seed {}).",
            journal.question.target,
            counted(u64::from(result.rounds), "round"),
            journal.rounds.variants.join(", "),
            journal.rounds.seed,
        ),
    );
    for cost in &result.costs {
        page.blank();
        table(cost, result, page);
        cost.figures.iter().for_each(|figure| page.wrapped("  ", &figure.sentence));
    }
    page.blank();
    if let Some(why) = &result.no_interval {
        page.wrapped("", &format!("No interval: {}.", why.text));
    } else {
        page.wrapped(
            "",
            "Each interval holds by itself, by the exact sign-flip test of the rounds, whatever the distribution.",
        );
    }
    let maxima = result.maxima.iter().map(|maxima| match (maxima.low_ns, maxima.high_ns) {
        (low, high) if low == high => format!("{} {}", maxima.level.name(), latency(low)),
        (low, high) => format!("{} {} to {}", maxima.level.name(), latency(low), latency(high)),
    });
    let maxima: Vec<String> = maxima.collect();
    page.wrapped("", &format!("Largest latency of each run, described and not compared: {}.", maxima.join("; ")));
}

fn table(cost: &LevelCost, result: &ObserverEffect, page: &mut Page) {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    let confidence = match result.no_interval {
        None => format!(" [{} %]", (result.confidence * 1e6).round() / 1e4),
        Some(_) => String::new(),
    };
    let (difference, ratio) = (format!("difference{confidence}"), format!("ratio{confidence}"));
    table.row(["", "off", cost.level.name(), &difference, &ratio]);
    for figure in &cost.figures {
        table.row(row(figure));
    }
    page.headed_table(&table);
}

fn row(cost: &FigureCost) -> [String; 5] {
    let latencies = cost.unit == Unit::Nanoseconds;
    let amount = |value: f64| if latencies { latency(value.round() as i64) } else { format!("{value:.0}") };
    // The ends of an interval have the unit of the value between them.
    let (scale, unit, decimals) = match cost.difference.value.abs() {
        _ if !latencies => (1.0, "", 0),
        size if size < 1e3 => (1.0, " ns", 0),
        size if size < 1e6 => (1e3, " µs", 1),
        _ => (1e6, " ms", 2),
    };
    let signed = |value: f64| format!("{:+.decimals$}", value / scale);
    let ratio = |value: f64| format!("{value:.3}");
    let ends = |estimate: &Estimate, shown: &dyn Fn(f64) -> String| {
        estimate
            .interval
            .map_or(String::new(), |interval| format!(" [{}, {}]", shown(interval.low), shown(interval.high)))
    };
    let name = if latencies { cost.figure.to_string() } else { format!("{}/s", cost.figure.without_prefix()) };
    [
        name,
        amount(cost.off),
        amount(cost.traced),
        format!("{}{unit}{}", signed(cost.difference.value), ends(&cost.difference, &signed)),
        cost.ratio
            .as_ref()
            .map_or("-".into(), |estimate| format!("{}{}", ratio(estimate.value), ends(estimate, &ratio))),
    ]
}
