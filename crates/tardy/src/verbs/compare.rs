//! `tardy compare`: compares two runs, without a verdict; in virtual time two systems, exactly.

mod seeds;

use crate::archives;
use crate::briefs::compared::compared_runs;
use crate::exit::{Exit, UsageError};
use crate::measuring::experiment_command::experiment_command;
use crate::options::brief::BriefArgument;
use crate::options::quantity::whole;
use crate::terminal::historical_results;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::short::Short;
use crate::terminal::table::{Align, Table};
use crate::verb::{Group, Place, Verb};
use crate::virtual_time::seed_runs::{archives_of, is_virtual};
use account::{Account, ComparedRuns, ExplanationSource, compared};
use archive::reader::Run;
use claims::difference_kind::DifferenceKind;
use claims::unit::Unit;
use clap::Args;
use interchange::exports::published_results::historical;
use judge::compare::{ComparedCulprit, ComparedFigure, Comparison};
use judge::difference::Difference;
use std::collections::BTreeSet;
use std::path::PathBuf;
use words::claims::comparison::WORK_NO_INTERVAL;
use words::claims::difference::in_units;
use words::culprits::named;
use words::figures::{count, latency};

/// Differences shown of each kind; `--json` has all of them.
const DIFFERENCES_SHOWN: usize = 12;

/// Compare two runs: figures, causes, machine and settings
#[derive(Debug, Args)]
pub struct CompareArguments {
    /// Path of an archive, an id below runs/, or `latest`; of runs in virtual time also a directory with several seeds
    #[arg(value_name = "A", required_unless_present = "options_a")]
    a: Option<PathBuf>,
    /// The other run
    #[arg(value_name = "B", required_unless_present = "options_a")]
    b: Option<PathBuf>,
    /// Measure in virtual time with these options of `tardy run` as A, idle and with its load
    #[arg(long = "a", value_name = "OPTIONS", allow_hyphen_values = true, requires = "options_b", conflicts_with_all = ["a", "b"])]
    options_a: Option<String>,
    /// Measure in virtual time with these options as B
    #[arg(long = "b", value_name = "OPTIONS", allow_hyphen_values = true, requires = "options_a")]
    options_b: Option<String>,
    /// Seeds of each side
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = whole::<u32>(1..=10_000), requires = "options_a")]
    seeds: u32,
    /// Directory of the archives of both sides [default: runs/<time>-compare]
    #[arg(short, long, value_name = "DIR", requires = "options_a")]
    out: Option<PathBuf>,
    /// In virtual time: repeat each run under load that has no recording yet, and record this many of its worst wake-ups,
    /// so that causes and functions are compared as well
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..=1000))]
    record: Option<u32>,
    /// Further runs are refused: several runs prove something only when they were measured in randomised rounds
    #[arg(hide = true)]
    further: Vec<PathBuf>,
    /// Show the figures that the CE Linux Forum published beside the two runs, marked as historical
    #[arg(long, conflicts_with_all = ["options_a", "record"])]
    historical: bool,
    /// Print every figure, cause and difference, not only the answer
    #[arg(long, conflicts_with_all = ["json", "options_a"])]
    more: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    brief: BriefArgument,
    /// Options of `tardy run` that both sides share
    #[arg(last = true, value_name = "RUN OPTIONS")]
    options: Vec<String>,
}

/// Why several runs per side are rejected in real time.
const SEVERAL: &str = "compare takes two runs. Several runs of each, measured one after the other, prove no more: whatever \
                       drifted meanwhile looks like a difference. Only runs in randomised rounds can be tested: \
                       `tardy experiment`. In virtual time directories of seeds can be compared";

impl Verb for CompareArguments {
    const NAME: &'static str = "compare";
    const PLACE: Place = Place::Listed(Group::Prove);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy compare before after",
        "tardy compare runs/old-seeds runs/new-seeds",
        "tardy compare --a '--target old' --b '--target new' --seeds 16 --record 1 -- --duration 2s --load dentry",
    ];
    const NOTES: &'static str = "\
In virtual time A and B may be directories with the runs of several seeds, which are paired by seed; or options of `tardy run`, \
and both sides are measured. Options after `--` apply to both.
Exit codes: 0 compared, 1 one system with one seed is not identical in virtual time, 2 wrong usage, 3 could not measure.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, &typed)
    }
}

fn run(arguments: &CompareArguments, command: &[String]) -> anyhow::Result<Exit> {
    if arguments.brief.is_given()
        && (arguments.options_a.is_some() || arguments.record.is_some() || arguments.historical)
    {
        return Err(
            UsageError("--brief compares two archives; leave out --a, --b, --record and --historical".into()).into()
        );
    }
    if let Some((a, b)) = arguments.options_a.as_deref().zip(arguments.options_b.as_deref()) {
        return seeds::of_options(arguments, [a, b], command);
    }
    if !arguments.further.is_empty() {
        return Err(UsageError(SEVERAL.into()).into());
    }
    let (Some(a), Some(b)) = (&arguments.a, &arguments.b) else {
        return Err(UsageError("compare takes two runs, A and B".into()).into());
    };
    if arguments.brief.is_given() {
        json::print(&compared_runs([archives::open(a)?, archives::open(b)?])?)?;
        return Ok(Exit::Measured);
    }
    let (a, b) = (archives_of(a)?, archives_of(b)?);
    let virtual_runs = |runs: &[Run]| runs.iter().filter(|run| is_virtual(run)).count();
    if arguments.historical && virtual_runs(&a) + virtual_runs(&b) > 0 {
        return Err(UsageError("--historical is for runs that count time, not executed instructions".into()).into());
    }
    if virtual_runs(&a) == a.len() && virtual_runs(&b) == b.len() {
        return seeds::of_archives(arguments, [a, b], command);
    }
    if arguments.record.is_some() {
        return Err(UsageError("--record makes runs in virtual time again, and not all of these are".into()).into());
    }
    if virtual_runs(&a) + virtual_runs(&b) > 0 {
        let text =
            "some of these runs count executed instructions (virtual time) and others time: the two do not compare";
        return Err(UsageError(text.into()).into());
    }
    let (Ok([a]), Ok([b])) = (<[Run; 1]>::try_from(a), <[Run; 1]>::try_from(b)) else {
        return Err(UsageError(SEVERAL.into()).into());
    };
    let [a, b] = [a, b].map(|run| Account::of(run, ExplanationSource::Traces));
    let compared = compared(&a, &b);
    if arguments.json && arguments.historical {
        let mut document = serde_json::to_value(&compared)?;
        document["historical"] = serde_json::to_value(historical())?;
        json::print(&document)?;
    } else if arguments.json {
        json::print(&compared)?;
    } else {
        let mut page = match arguments.more {
            true => lay_out(&compared, again(&a, &b), Page::for_stdout()),
            false => short(&compared, command, Page::for_stdout()),
        };
        if arguments.historical {
            lay_out_historical(&mut page);
        }
        page.print()?;
    }
    Ok(Exit::Measured)
}

/// Beside the comparison and no part of it.
fn lay_out_historical(page: &mut Page) {
    page.blank();
    page.records(&historical_results::table());
    let text = "historical: published by the CE Linux Forum for other tools, kernels and machines of 2005 to 2008; nothing \
                measured today compares with it. `tardy export --format results-table --historical` has every column";
    page.wrapped("", text);
}

/// The figures, the causes that only one run has, and the number of other differences.
fn short(compared: &ComparedRuns, typed: &[String], page: Page) -> Page {
    let comparison = &compared.comparison;
    let mut short = Short::on(page);
    short.whole("A  ", &compared.a);
    short.whole("B  ", &compared.b);
    short.table(&figures(comparison));
    comparison.cautions.iter().for_each(|caution| short.text(1, "caution: ", &caution.text));
    short.optional("Causes: ", one_sided_causes(comparison));
    let kinds: BTreeSet<String> = comparison.differences.iter().map(|difference| in_units(difference).0).collect();
    let differing = kinds.into_iter().collect::<Vec<_>>().join(", ");
    short.optional("Other differences: ", Some(differing).filter(|kinds| !kinds.is_empty()));
    short.text(1, "", &comparison.sentence);
    short.more(typed);
    short.lay_out()
}

/// The experiment that decides whether B differs, if both can be measured again.
fn again(a: &Account, b: &Account) -> Option<String> {
    let [a, b] = [a, b].map(Account::summary);
    (a.imported.is_none() && b.imported.is_none()).then(|| experiment_command(a, b))
}

/// The causes of captured wake-ups that only one run has; `None` without a captured one.
fn one_sided_causes(comparison: &Comparison) -> Option<String> {
    let only = |mine: fn(&ComparedCulprit) -> (u64, u64)| -> Vec<String> {
        let is_alone = |entry: &&ComparedCulprit| matches!(mine(entry), (1.., 0));
        comparison.culprits.iter().filter(is_alone).map(|entry| named(entry.culprit.id())).collect()
    };
    let sides = [("A", only(|entry| (entry.a, entry.b))), ("B", only(|entry| (entry.b, entry.a)))];
    let alone: Vec<String> = sides
        .iter()
        .filter(|(_, ids)| !ids.is_empty())
        .map(|(side, ids)| format!("only in {side}: {}", ids.join(", ")))
        .collect();
    match (comparison.culprits.is_empty(), alone.is_empty()) {
        (true, _) => None,
        (false, true) => Some("the same in both".into()),
        (false, false) => Some(alone.join("; ")),
    }
}

fn lay_out(compared: &ComparedRuns, again: Option<String>, mut page: Page) -> Page {
    let comparison = &compared.comparison;
    page.wrapped("A  ", &compared.a);
    page.wrapped("B  ", &compared.b);
    for caution in &comparison.cautions {
        page.wrapped("caution: ", &caution.text);
    }
    page.blank();
    page.headed_table(&figures(comparison));
    work(comparison, &mut page);
    causes(comparison, &mut page);
    lay_out_differences(&comparison.differences, &mut page);
    page.blank();
    page.wrapped("", &comparison.sentence);
    if let Some(command) = again {
        page.wrapped("Next:   ", &command);
    }
    page
}

fn figures(comparison: &Comparison) -> Table {
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.row(["all CPUs", "A", "B", "B / A"]);
    for figure in comparison.figures.iter().filter(|figure| !figure.work) {
        let shown = |value: Option<f64>| value.map_or("-".into(), |value| amount(figure, value));
        let ratio = figure.ratio.map_or("-".into(), |ratio| format!("{ratio:.3}"));
        let name = if figure.unit == Unit::Nanoseconds {
            figure.name.to_string()
        } else {
            format!("{}, {}", figure.name, figure.unit)
        };
        table.row([name, shown(figure.a), shown(figure.b), ratio]);
    }
    table
}

/// The cost of a change: the same loads with and without it.
fn work(comparison: &Comparison, page: &mut Page) {
    let figures: Vec<&ComparedFigure> = comparison.figures.iter().filter(|figure| figure.work).collect();
    if figures.is_empty() {
        return;
    }
    page.blank();
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right]);
    table.row(["the same work", "A", "B", "B / A", "change"]);
    for figure in figures {
        let shown = |value: Option<f64>| value.map_or("-".into(), |value| amount(figure, value));
        let ratio = figure.ratio.map_or("-".into(), |ratio| format!("{ratio:.3}"));
        let change = figure.ratio.map_or("-".into(), |ratio| format!("{:+.1} %", (ratio - 1.0) * 100.0));
        table.row([
            format!("{}, {}", figure.name.without_prefix(), figure.unit),
            shown(figure.a),
            shown(figure.b),
            ratio,
            change,
        ]);
    }
    page.headed_table(&table);
    page.wrapped("", WORK_NO_INTERVAL);
}

fn amount(figure: &ComparedFigure, value: f64) -> String {
    if figure.unit == Unit::Nanoseconds { latency(value.round() as i64) } else { count(value.round() as u64) }
}

fn causes(comparison: &Comparison, page: &mut Page) {
    let (unexplained_a, unexplained_b) = comparison.unexplained;
    if comparison.culprits.is_empty() && unexplained_a + unexplained_b == 0 {
        return;
    }
    page.blank();
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Left]);
    table.row(["spikes by cause", "A", "B", ""]);
    for entry in &comparison.culprits {
        let note = match (entry.a, entry.b) {
            (0, _) => "only in B",
            (_, 0) => "only in A",
            _ => "",
        };
        table.row([&named(entry.culprit.id()), &entry.a.to_string(), &entry.b.to_string(), note]);
    }
    if unexplained_a + unexplained_b > 0 {
        table.row(["not explained", &unexplained_a.to_string(), &unexplained_b.to_string(), ""]);
    }
    page.headed_table(&table);
}

fn lay_out_differences(differences: &[Difference], page: &mut Page) {
    page.blank();
    if differences.is_empty() {
        page.wrapped("", "Machine, kernel and settings are alike as far as they were recorded.");
        return;
    }
    page.heading("Other differences");
    let mut shown: Vec<(DifferenceKind, usize)> = Vec::new();
    for difference in differences {
        match shown.iter_mut().find(|(what, _)| *what == difference.what) {
            Some((_, count)) => *count += 1,
            None => shown.push((difference.what, 1)),
        }
        let (_, so_far) = shown.iter().find(|(what, _)| *what == difference.what).expect("it was just counted");
        if *so_far <= DIFFERENCES_SHOWN {
            let (name, difference) = in_units(difference);
            page.wrapped(&format!("  {name}: "), &sides(&difference));
        }
    }
    for (what, count) in shown.iter().filter(|(_, count)| *count > DIFFERENCES_SHOWN) {
        page.line(&format!("  {what}: and {} more, see --json", count - DIFFERENCES_SHOWN));
    }
}

fn sides(difference: &Difference) -> String {
    match (&difference.a, &difference.b) {
        (Some(a), Some(b)) => format!("A {a}; B {b}"),
        (Some(a), None) => format!("only A: {a}"),
        (None, Some(b)) => format!("only B: {b}"),
        (None, None) => String::new(),
    }
}
