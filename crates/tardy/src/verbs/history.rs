//! `tardy lab history`: where the figures of a series of runs changed.

mod sparkline;

use crate::archives::{RUNS, in_reach, is_archive};
use crate::exit::Exit;
use crate::measuring::experiment_command::experiment_command;
use crate::terminal::clock_alarm::{alarm_of_clock, clock_alarm};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::short::Short;
use crate::verb::{Parent, Place, Verb};
use account::{Account, ExplanationSource};
use anyhow::Context;
use clap::Args;
use judge::difference::Difference;
use judge::history::{ChangePoint, HistoryRun, Series, history};
use report::write_history_pngs;
use sparkline::sparkline;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use words::claims::difference::in_units;
use words::figures::counted;

/// Version of the document that `tardy history --json` prints.
const HISTORY_VERSION: u32 = 1;
/// Seed of the permutations, so that the same runs give the same result.
const SEED: u64 = 1;
/// Columns of a sparkline, and differences shown at a change.
const COLUMNS: usize = 72;
const DIFFERENCES_SHOWN: usize = 6;
/// Changes that the short answer shows.
const CHANGES_SHOWN: usize = 3;
const NO_RUN: &str = "No run can be used; `tardy run` makes one.";

/// Find where the figures of a series of runs changed
#[derive(Debug, Args)]
pub struct HistoryArguments {
    /// Directories with archives, or archives
    #[arg(value_name = "DIR", default_value = RUNS)]
    directories: Vec<PathBuf>,
    /// Write a picture of each series into this directory
    #[arg(long, value_name = "DIR")]
    png: Option<PathBuf>,
    /// Draw every series, and show what differs at each change
    #[arg(long, conflicts_with = "json")]
    more: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Verb for HistoryArguments {
    const NAME: &'static str = "history";
    const PLACE: Place = Place::Below(Parent::Lab);
    const EXAMPLES: &'static [&'static str] = &["tardy lab history", "tardy lab history nightly/ --png pictures"];
    const FORMER_NAMES: &'static [&'static str] = &["history"];
    const NOTES: &'static str = "\
Runs with the same machine, load and settings are one series. Compared are the highest quantile that the runs resolve, the \
median, and the rates of late wake-ups and missed periods; maxima scatter too much.
A change point is a hint: the experiment printed with it confirms or refutes it.
Exit codes: 0 no change found, 1 a figure changed, 2 wrong usage, 3 no run can be used, 4 too few runs.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, &typed)
    }
}

fn run(arguments: &HistoryArguments, typed: &[String]) -> anyhow::Result<Exit> {
    let mut left_out = 0u64;
    let mut runs: Vec<HistoryRun> = Vec::new();
    for path in arguments.directories.iter().flat_map(|directory| archives_of(directory.as_path())) {
        match Account::open(&path, ExplanationSource::Stored).ok().and_then(Account::into_history) {
            Some(run) => runs.push(run),
            None => left_out += 1,
        }
    }
    let all = history(&runs, SEED);
    let pictures = match &arguments.png {
        Some(directory) => write_history_pngs(&all, directory)
            .with_context(|| format!("failed to write pictures to {}", directory.display()))?,
        None => Vec::new(),
    };
    if arguments.json {
        let document = serde_json::json!({
            "history_version": HISTORY_VERSION, "runs": runs.len(), "left_out": left_out, "series": all, "png": pictures,
        });
        json::print(&document)?;
    } else {
        let mut page = match arguments.more {
            true => lay_out(&all, &runs, Page::for_stdout()),
            false => short(&all, &runs, typed, Page::for_stdout()),
        };
        if left_out > 0 {
            page.blank();
            page.wrapped("", &format!("{} left out: not valid, or without samples.", counted(left_out, "run")));
        }
        pictures.iter().for_each(|path| page.line(&path.display().to_string()));
        page.print()?;
    }
    Ok(match (runs.is_empty(), all.iter().any(|series| !series.changes.is_empty())) {
        (true, _) => Exit::NotMeasured,
        (_, true) => Exit::LimitExceeded,
        (_, false) if all.iter().all(|series| series.too_few) => Exit::NotEnoughData,
        (_, false) => Exit::Measured,
    })
}

/// The directory itself if it is an archive, or the archives that `tardy list` finds in it: a lab and a plan have theirs deeper.
fn archives_of(directory: &Path) -> Vec<PathBuf> {
    if is_archive(directory) { vec![directory.to_owned()] } else { in_reach(directory) }
}

/// The changes, the newest first, and what the other series show.
fn short(all: &[Series], runs: &[HistoryRun], typed: &[String], page: Page) -> Page {
    let mut short = Short::on(page);
    if all.is_empty() {
        short.whole("", NO_RUN);
        return short.lay_out();
    }
    let of_any = |holds: fn(&HistoryRun) -> bool| runs.iter().any(holds);
    let alarm = clock_alarm(of_any(|run| run.summary.virtual_time), of_any(|run| run.summary.emulated));
    short.optional("", alarm);
    let mut changes: Vec<(&Series, &ChangePoint)> =
        all.iter().flat_map(|series| series.changes.iter().map(move |change| (series, change))).collect();
    changes.sort_by_key(|(series, change)| std::cmp::Reverse(series.points[change.at].started_unix_ns));
    for (series, change) in changes.iter().take(CHANGES_SHOWN) {
        short.text(1, "", &format!("{}: {}", series.scenario, change.sentence));
    }
    if changes.len() > CHANGES_SHOWN {
        short.whole("", &format!("{} more changed.", counted((changes.len() - CHANGES_SHOWN) as u64, "figure")));
    }
    let scenarios: BTreeSet<&String> = all.iter().map(|series| &series.scenario).collect();
    let measured = format!("{} of {}", counted(runs.len() as u64, "run"), counted(scenarios.len() as u64, "scenario"));
    if changes.is_empty() {
        short.whole("", &format!("No figure of {measured} changed."));
    }
    // Several series often have the same reason.
    let unchanged: BTreeSet<&String> = all
        .iter()
        .filter(|series| series.changes.is_empty() && !series.too_few)
        .map(|series| &series.sentence)
        .collect();
    unchanged.iter().for_each(|sentence| short.text(1, "", &format!("{sentence}.")));
    too_few(all).iter().for_each(|sentences| short.text(1, "", sentences));
    short.more(typed);
    short.lay_out()
}

/// The scenarios with too few runs: the sentence of the one with the most, and how many the others have.
fn too_few(all: &[Series]) -> Option<String> {
    let few = || all.iter().filter(|series| series.too_few);
    let largest = few().max_by_key(|series| series.points.len())?;
    let mut others: BTreeMap<&String, usize> = few().map(|series| (&series.scenario, series.points.len())).collect();
    others.remove(&largest.scenario);
    let sentence = format!("{}.", largest.sentence);
    let (Some(fewest), Some(most)) = (others.values().min(), others.values().max()) else { return Some(sentence) };
    let scenarios = counted(others.len() as u64, "other scenario");
    let verb = if others.len() == 1 { "has" } else { "have" };
    let runs = counted(*most as u64, "run");
    let runs = if fewest == most { runs } else { format!("{fewest} to {runs}") };
    Some(format!("{sentence} {scenarios} {verb} {runs}."))
}

/// Whether one sentence is about both figures.
fn is_alike(a: &Series, b: &Series) -> bool {
    a.scenario == b.scenario && a.sentence == b.sentence && a.changes.is_empty() && b.changes.is_empty()
}

fn lay_out(all: &[Series], runs: &[HistoryRun], mut page: Page) -> Page {
    if all.is_empty() {
        page.wrapped("", NO_RUN);
    }
    let of_any = |holds: fn(&HistoryRun) -> bool| runs.iter().any(holds);
    alarm_of_clock(of_any(|run| run.summary.virtual_time), of_any(|run| run.summary.emulated), &mut page);
    let mut scenario = None;
    for alike in all.chunk_by(is_alike) {
        let first = &alike[0];
        if scenario != Some(&first.scenario) {
            page.blank();
            page.wrapped("", &first.scenario);
            scenario = Some(&first.scenario);
        }
        let names: Vec<String> = alike.iter().map(|series| series.metric.name.to_string()).collect();
        page.wrapped("  ", &format!("{}: {}.", names.join(", "), first.sentence));
        for (series, name) in alike.iter().zip(&names) {
            if let Some((line, scale)) = sparkline(series, COLUMNS) {
                if alike.len() > 1 {
                    page.line(&format!("  {name}"));
                }
                page.line(&format!("  {line}"));
                page.line(&format!("  {scale}"));
            }
            changes(series, runs, &mut page);
        }
    }
    page
}

fn changes(series: &Series, runs: &[HistoryRun], page: &mut Page) {
    for change in &series.changes {
        page.wrapped("  * ", &change.sentence);
        differences(&change.differences, page);
        let side = |index: usize| runs.iter().find(|run| run.archive == series.points[index].archive);
        if let (Some(before), Some(after)) = (side(change.at - 1), side(change.drift_until.unwrap_or(change.at))) {
            page.line("    To prove or refute it:");
            page.line(&format!("      {}", experiment_command(&before.summary, &after.summary)));
        }
    }
}

fn differences(differences: &[Difference], page: &mut Page) {
    for (name, difference) in differences.iter().take(DIFFERENCES_SHOWN).map(in_units) {
        let side = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".into());
        let text = format!("{} before, {} after", side(&difference.a), side(&difference.b));
        page.wrapped(&format!("    {name}: "), &text);
    }
    if differences.len() > DIFFERENCES_SHOWN {
        page.line(&format!("    and {} more differences, see --json", differences.len() - DIFFERENCES_SHOWN));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use claims::figure_name::FigureName;
    use claims::unit::Unit;
    use fixtures::assert_sentence;
    use judge::experiment::{Metric, Scale};
    use judge::history::Point;

    fn few(scenario: &str, runs: usize) -> Series {
        let point = Point { archive: String::new(), id: String::new(), started_unix_ns: None, value: 1.0 };
        Series {
            scenario: scenario.into(),
            metric: Metric { name: FigureName::P99, unit: Unit::Nanoseconds, scale: Scale::Ratio },
            points: vec![point; runs],
            changes: Vec::new(),
            detectable: None,
            autocorrelation: None,
            too_few: true,
            sentence: format!("{runs} are few"),
        }
    }

    #[test]
    fn scenarios_with_too_few_runs_share_a_sentence() {
        assert_eq!(too_few(&[]), None);
        assert_eq!(too_few(&[few("a", 3), few("a", 3)]).unwrap(), "3 are few.");
        assert_sentence!("history-one-other", too_few(&[few("a", 1), few("b", 11)]).unwrap());
        let several = [few("a", 1), few("b", 11), few("c", 4)];
        assert_sentence!("history-several-others", too_few(&several).unwrap());
    }

    #[test]
    fn figures_share_a_sentence_within_a_scenario_only() {
        assert!(is_alike(&few("a", 3), &few("a", 3)));
        assert!(!is_alike(&few("a", 3), &few("b", 3)) && !is_alike(&few("a", 3), &few("a", 4)));
    }
}
