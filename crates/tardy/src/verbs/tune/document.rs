//! The result of tuning as an HTML page with pictures.

use super::page::{self, goal_words};
use super::question::Journal;
use crate::measuring::rounds::VariantRun;
use crate::terminal::page::Page;
use archive::histogram::Histogram;
use archive::manifest::LOCAL;
use archive::reader::Run;
use judge::figures::all_periods;
use judge::tune::Configuration;
use report::steps::{Step, render};
use std::io;
use std::path::Path;
use words::printable::printable;

pub const FILE: &str = "tune.html";
const COLUMNS: usize = 100;

/// Writes the page beside the archives; nothing without a result.
///
/// # Errors
/// If the page cannot be written. An archive that cannot be read has no part in a curve.
pub fn write(directory: &Path, journal: &Journal) -> io::Result<()> {
    if journal.result.is_none() {
        return Ok(());
    }
    let text = page::lay_out(directory, journal, Page::new(false).with_columns(COLUMNS)).text().to_owned();
    let target = match journal.question.target.as_str() {
        LOCAL => "this machine".to_owned(),
        name => printable(name),
    };
    let goal = &journal.question.goal;
    let title = format!("Settings that lower {} of {target}", goal_words(goal));
    let html = render(&title, &text, &goal_words(goal), goal.unit(), &steps(directory, journal));
    std::fs::write(directory.join(FILE), html)
}

/// Runs without any setting, with all members, and with each member left out.
fn steps(directory: &Path, journal: &Journal) -> Vec<Step> {
    let members: Vec<usize> =
        journal.result.iter().flat_map(|tuned| &tuned.result.members).map(|member| member.candidate).collect();
    let all: Configuration = members.iter().copied().collect();
    let name = |candidate: usize| journal.question.candidates.get(candidate).map_or("", |one| one.name.as_str());
    let mut wanted = vec![("no setting".to_owned(), Configuration::NONE, true)];
    if let [one] = members[..] {
        wanted.push((name(one).to_owned(), all, true));
    } else if !members.is_empty() {
        wanted.push((format!("all {} settings", members.len()), all, true));
        wanted.extend(members.iter().map(|one| (format!("without {}", name(*one)), all.without(*one), false)));
    }
    let step = |(name, of, curve): (String, Configuration, bool)| {
        let runs: Vec<&VariantRun> = runs(journal, of).collect();
        let measured = runs.iter().filter_map(|run| journal.question.measured.get(&run.archive));
        let mut lateness = Histogram::default();
        for run in runs.iter().filter(|_| curve) {
            if let Ok(run) = Run::open(directory.join(&run.archive)) {
                lateness.merge(&all_periods(&run));
            }
        }
        Step { name: printable(&name), figures: measured.map(|run| run.figure).collect(), lateness }
    };
    wanted.into_iter().map(step).collect()
}

fn runs(journal: &Journal, of: Configuration) -> impl Iterator<Item = &VariantRun> {
    let complete = journal.rounds.complete().flat_map(|attempt| &attempt.runs);
    complete.filter(move |run| Configuration::try_from(run.variant.clone()).is_ok_and(|variant| variant == of))
}
