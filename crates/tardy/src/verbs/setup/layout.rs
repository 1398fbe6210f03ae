//! The steps of a setup as a page.

use crate::terminal::page::Page;
use archive::choice::Choice;
use archive::setup::{SetupChange, SetupReport, StepReport, StepState};
use words::setup::{STILL_ROOT, change, hindrance, sign_in};

const STEP_COLUMNS: usize = 18;

/// `options`: as typed, for the command that makes the changes.
pub fn lay_out(report: &SetupReport, options: &str, page: &mut Page) {
    page.heading(&headline(report));
    report.steps.iter().for_each(|step| lay_out_step(step, page));
    page.blank();
    page.heading("Still takes root");
    page.entries(&STILL_ROOT.map(|(action, why)| (format!("  {action}"), why.to_owned())));
    page.blank();
    page.wrapped("", &next(report, options));
}

fn headline(report: &SetupReport) -> String {
    let user = &report.user;
    match (count(report, is_needed), count(report, is_made)) {
        (0, 0) => format!("This machine is set up for {user}."),
        (0, made) => format!("Set up this machine for {user}; steps made: {made}."),
        (needed, _) => format!("Setup of this machine for {user}; steps to make: {needed}."),
    }
}

fn count(report: &SetupReport, state: fn(&StepState) -> bool) -> usize {
    report.steps.iter().filter(|step| state(&step.state)).count()
}

fn is_needed(state: &StepState) -> bool {
    matches!(state, StepState::Needed(_))
}

fn is_made(state: &StepState) -> bool {
    matches!(state, StepState::Made(_))
}

fn lay_out_step(step: &StepReport, page: &mut Page) {
    let (word, changes, reason): (&str, &[SetupChange], Option<String>) = match &step.state {
        StepState::Done => ("done", &[], None),
        StepState::Needed(changes) => ("to do", changes, None),
        StepState::Made(changes) => ("made", changes, None),
        StepState::Hindered(why) => ("no", &[], Some(hindrance(why))),
    };
    page.wrapped(&format!("  {word:6}{:STEP_COLUMNS$}", step.step.word()), step.step.meaning());
    let indent = " ".repeat(8);
    changes.iter().map(change).chain(reason).for_each(|line| page.wrapped(&indent, &line));
}

fn next(report: &SetupReport, options: &str) -> String {
    if count(report, is_needed) > 0 {
        return format!(
            "`sudo tardy setup --apply{options}` makes these changes, and `sudo tardy setup --undo` reverts them."
        );
    }
    format!("{} `sudo tardy setup --undo` reverts the setup.", sign_in(&report.user))
}
