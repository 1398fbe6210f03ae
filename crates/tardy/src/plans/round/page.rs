//! The outcome of a round as a page of text.

use super::outcome::StepOutcome;
use super::role_outcome::RoleOutcome;
use super::step_state::StepState;
use crate::options::limits::described;
use crate::plans::checked::CheckedPlan;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use judge::step::StepVerdict;
use judge::verdict::Judgement;
use std::path::Path;
use words::figures::{count, counted, microseconds_rough};
use words::shell::quoted;

pub fn lay_out(plan: &CheckedPlan, directory: &Path, outcomes: &[StepOutcome], mut page: Page) -> Page {
    // A round may contain machines of both kinds.
    alarm_of_clock(false, outcomes.iter().any(|outcome| outcome.emulated && !outcome.virtual_time), &mut page);
    alarm_of_clock(outcomes.iter().any(|outcome| outcome.virtual_time), false, &mut page);
    let mut table =
        Table::new(&[Align::Right, Align::Left, Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["step", "what", "verdict", "cycles", "p99", "max µs", "spikes"]);
    for outcome in outcomes {
        table.row(row(outcome));
        if let Some(stimulus) = &outcome.stimulus {
            table.row(row_of_stimulus(stimulus));
        }
    }
    page.headed_table(&table);
    page.blank();
    for outcome in outcomes {
        step(outcome, &mut page);
    }
    page.blank();
    page.heading(&sentence(&plan.plan.name, outcomes));
    let left = outcomes.iter().any(|outcome| outcome.state != StepState::Done);
    let directory = quoted(&directory.display().to_string());
    page.record(0, &format!("The archives are in {directory}"));
    if left {
        page.line(&format!("  tardy run --resume {directory}"));
    }
    if let Some(archive) = worst(outcomes) {
        page.line(&format!("  tardy explain {}", quoted(&archive.display().to_string())));
    }
    page
}

fn row(outcome: &StepOutcome) -> [String; 7] {
    let measured = outcome.cycles > 0;
    let figure = |number: u64| if measured { count(number) } else { "-".into() };
    [
        outcome.step.to_string(),
        outcome.title.clone(),
        outcome.word().into(),
        figure(outcome.cycles),
        microseconds_rough(outcome.p99_ns),
        microseconds_rough(outcome.max_ns),
        figure(outcome.spikes),
    ]
}

/// The machine that gave the stimuli, below its step.
fn row_of_stimulus(stimulus: &RoleOutcome) -> [String; 7] {
    let what = match stimulus.unanswered {
        0 => format!("  round trips by {}", stimulus.target),
        lost => format!("  round trips by {}, {} without an answer", stimulus.target, count(lost)),
    };
    let cycles = if stimulus.cycles > 0 { count(stimulus.cycles) } else { "-".into() };
    let (p99, max) = (microseconds_rough(stimulus.p99_ns), microseconds_rough(stimulus.max_ns));
    [String::new(), what, String::new(), cycles, p99, max, String::new()]
}

/// Why a step did not pass, below the table.
fn step(outcome: &StepOutcome, page: &mut Page) {
    let first = format!("step {}  ", outcome.step);
    if let Some(problem) = &outcome.problem {
        return page.wrapped(&first, &format!("{problem}."));
    }
    let indent = " ".repeat(first.len());
    judgements(&first, &outcome.judgements, page);
    if let Some(stimulus) = outcome.stimulus.as_ref().filter(|stimulus| !stimulus.judgements.is_empty()) {
        let whose = format!("Round trips by {}:", stimulus.target);
        page.wrapped(if outcome.judgements.is_empty() { &first } else { &indent }, &whose);
        judgements(&indent, &stimulus.judgements, page);
    }
}

fn judgements(first: &str, judgements: &[Judgement], page: &mut Page) {
    let indent = " ".repeat(first.len());
    for judgement in judgements {
        page.wrapped(first, &described(&judgement.limit));
        page.wrapped(&indent, &judgement.sentence);
    }
    for doubt in judgements.first().iter().flat_map(|judgement| &judgement.doubts) {
        page.wrapped(&format!("{indent}note: "), &doubt.text);
    }
}

/// How the round ended, in one line.
fn sentence(plan: &str, outcomes: &[StepOutcome]) -> String {
    let all = StepVerdict::of_all(outcomes.iter().map(|outcome| outcome.verdict));
    let of = |verdict| outcomes.iter().filter(|outcome| outcome.verdict == verdict).count() as u64;
    let not_run = outcomes.iter().filter(|outcome| outcome.state == StepState::NotRun).count() as u64;
    match all {
        StepVerdict::Measured => {
            let steps = counted(outcomes.len() as u64, "step");
            format!("{plan}: measured {steps}; no limit says what must hold{}.", share(of(all), outcomes.len()))
        }
        StepVerdict::Error if not_run > 0 => {
            format!("{plan}: {not_run} of {} not run.", counted(outcomes.len() as u64, "step"))
        }
        worst => format!("{plan}: {}{}.", worst.words(), share(of(worst), outcomes.len())),
    }
}

/// In how many of the steps; empty for a plan of one step.
fn share(some: u64, all: usize) -> String {
    match some == all as u64 {
        true if all == 1 => String::new(),
        true => format!(" in all {}", counted(some, "step")),
        false => format!(" in {some} of {}", counted(all as u64, "step")),
    }
}

/// The archive with the worst wake-up of all, as the one to explain.
fn worst(outcomes: &[StepOutcome]) -> Option<&Path> {
    let spiky = outcomes.iter().filter(|outcome| outcome.spikes > 0);
    spiky.max_by_key(|outcome| outcome.max_ns)?.archive.as_deref()
}
