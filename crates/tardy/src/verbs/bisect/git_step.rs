//! One step, with the exit codes of `git bisect run`: 0 good, 1 bad, 125 cannot be tested, 128 and above give up. Every
//! error of the search itself must give up: git would take any other code for a bad commit.

use super::BisectArguments;
use super::candidate::Candidate;
use super::measuring::{Step, Steps, enough_rounds};
use crate::exit::{Exit, UsageError, in_words};
use crate::terminal::json;
use crate::terminal::page::Page;
use archive::reader::Run;
use judge::bisect::{StepVerdict, step_confidence};
use std::fs;
use words::printable::printable;

/// Measures and returns the exit code; errors are printed and give up.
pub fn run(arguments: &BisectArguments, command: Vec<String>) -> Exit {
    step(arguments, command).unwrap_or_else(|error| {
        complain!("tardy: {}", printable(&in_words(&error)));
        Exit::GiveUp
    })
}

fn step(arguments: &BisectArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let candidate = Candidate::parse("", arguments)?;
    let good = arguments.good.as_deref().map(|word| Candidate::parse(word, arguments)).transpose()?;
    let limited = !arguments.limits.of(&Run::default())?.is_empty() || candidate.variant.settings.limit_ns.is_some();
    if !limited && (good.is_none() || candidate.in_virtual_time()) {
        let text = "--step needs --limit, or, except in virtual time, --good to compare with in an experiment";
        return Err(UsageError(text.into()).into());
    }
    let confidence = step_confidence(arguments.limits.confidence(), arguments.steps);
    if !limited {
        enough_rounds(arguments.rounds, confidence)?;
    }
    let steps = Steps { limits: &arguments.limits, seeds: arguments.seeds, rounds: arguments.rounds, confidence };
    let means = super::measuring(arguments, command)?;
    let folder = std::env::temp_dir().join(format!("tardy-bisect-{}", std::process::id()));
    let done = steps.measure(&means, &candidate, good.as_ref(), None, &folder);
    let _ = fs::remove_dir_all(&folder);
    let done = done?;
    if means.stopped() {
        return Ok(Exit::GiveUp);
    }
    report(arguments, &candidate, &done)?;
    Ok(match done.verdict {
        StepVerdict::Good => Exit::Measured,
        StepVerdict::Bad => Exit::LimitExceeded,
        StepVerdict::Untestable => Exit::Untestable,
    })
}

fn report(arguments: &BisectArguments, candidate: &Candidate, step: &Step) -> anyhow::Result<()> {
    if arguments.json {
        let document = serde_json::json!({ "virtual_time": candidate.in_virtual_time(), "verdict": step.verdict,
            "sentence": step.sentence });
        json::print(&document)?;
        return Ok(());
    }
    let mut page = Page::for_stdout();
    let time = if candidate.in_virtual_time() { " (virtual time)" } else { "" };
    page.wrapped("", &format!("{}{time}: {}", step.verdict.words(), step.sentence));
    Ok(page.print()?)
}
