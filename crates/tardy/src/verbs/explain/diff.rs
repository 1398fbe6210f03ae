//! `tardy explain --diff`: compares the causes of two runs, as text or as JSON. The crate `judge` decides which
//! statements are justified.

use crate::archives;
use crate::exit::{Exit, UsageError};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::short::Short;
use crate::terminal::table::{Align, Table};
use account::{Account, DifferingCauses, ExplanationSource, differing};
use judge::causes::{CauseInRun, CausesDifference, CountedRun, Rate};
use std::path::Path;
use words::figures::{counted, duration, latency};

const NEITHER: &str = "Neither run has a late sample with a trace.";
/// Causes that the short answer shows.
const CAUSES_SHOWN: usize = 4;

/// Compares the causes of two runs.
pub fn run(a: &Path, b: &Path, Shown { json, more, typed }: Shown) -> anyhow::Result<Exit> {
    let (a, b) = (archives::open(a)?, archives::open(b)?);
    if a.directory.canonicalize().ok().is_some_and(|path| b.directory.canonicalize().ok() == Some(path)) {
        return Err(UsageError("A and B are the same run: there is no difference to look for".into()).into());
    }
    let [a, b] = [a, b].map(|run| Account::of(run, ExplanationSource::Traces));
    let causes = differing(&a, &b);
    if json {
        json::print(&causes)?;
    } else {
        let page = Page::for_stdout();
        if more { lay_out(&causes, page) } else { short(&causes, typed, page) }.print()?;
    }
    Ok(Exit::Measured)
}

/// How much is shown, and the command line as typed.
pub struct Shown<'a> {
    pub json: bool,
    pub more: bool,
    pub typed: &'a [String],
}

/// The causes that differ, most important first.
fn short(differing: &DifferingCauses, typed: &[String], page: Page) -> Page {
    let difference = &differing.difference;
    let mut short = Short::on(page);
    short.whole("A  ", &differing.a);
    short.whole("B  ", &differing.b);
    match difference.causes.is_empty() {
        true => short.whole("", NEITHER),
        false => short.text(1, "", &difference.sentence),
    }
    let (shown, others) = difference.causes.split_at(difference.causes.len().min(CAUSES_SHOWN));
    shown.iter().for_each(|cause| short.text(1, "* ", &cause.sentence));
    if !others.is_empty() {
        short.whole("", &format!("and {}.", counted(others.len() as u64, "further cause")));
    }
    difference.cautions.iter().take(1).for_each(|caution| short.text(1, "caution: ", &caution.text));
    short.more(typed);
    short.lay_out()
}

fn lay_out(differing: &DifferingCauses, mut page: Page) -> Page {
    let difference = &differing.difference;
    page.wrapped("A  ", &differing.a);
    page.wrapped("B  ", &differing.b);
    for caution in &difference.cautions {
        page.wrapped("caution: ", &caution.text);
    }
    page.blank();
    if difference.causes.is_empty() {
        page.wrapped("", NEITHER);
        return page;
    }
    for cause in &difference.causes {
        page.wrapped("* ", &cause.sentence);
    }
    page.blank();
    page.wrapped("", &difference.counted);
    if difference.causes.iter().any(|cause| cause.ratio.is_some()) {
        page.blank();
        page.heading("How often");
        page.table(&how_often(difference));
    }
    page.blank();
    page.heading("How long each accounts for (A, B)");
    page.table(&how_long(difference));
    for (name, run) in [("A", &difference.a), ("B", &difference.b)] {
        page.wrapped(&format!("{name}: "), &known_of(run));
    }
    page.blank();
    page.wrapped("", &difference.sentence);
    page
}

/// The causes that were counted in either run.
fn how_often(difference: &CausesDifference) -> Table {
    let mut table = Table::new(&[Align::Left; 4]);
    table.row(["", "A (95 %)", "B (95 %)", "B / A"]);
    for cause in difference.causes.iter().filter(|cause| cause.ratio.is_some()) {
        let counted = |side: &CauseInRun| side.events.map_or("-".into(), |events| events.to_string());
        let ratio = match cause.ratio {
            Some((low, Some(high))) => format!("{} to {}", rough(low), rough(high)),
            Some((low, None)) => format!("{} or more", rough(low)),
            None => String::new(),
        };
        table.row([cause.name()]);
        table.row(["  counted".into(), counted(&cause.a), counted(&cause.b), ratio]);
        let mut rates = |unit: &str, of: fn(&CauseInRun) -> Option<Rate>| {
            table.row([unit.into(), rate(of(&cause.a)), rate(of(&cause.b))]);
        };
        rates("  per hour", |side| side.per_hour);
        rates("  per million samples", |side| side.per_million_wakeups);
    }
    table
}

/// Each cell shows A, B.
fn how_long(difference: &CausesDifference) -> Table {
    let mut table = Table::new(&[Align::Left; 5]);
    table.row(["cause", "traces", "in worst", "median", "worst"]);
    let both = |a: String, b: String| format!("{a}, {b}");
    let length = |ns: Option<i64>| ns.map_or("-".into(), latency);
    for cause in &difference.causes {
        let (a, b) = (&cause.a, &cause.b);
        table.row([
            cause.name().to_owned(),
            both(a.spikes.to_string(), b.spikes.to_string()),
            both(a.among_worst.to_string(), b.among_worst.to_string()),
            both(length(a.stretch_ns_median), length(b.stretch_ns_median)),
            both(length(a.stretch_ns_max), length(b.stretch_ns_max)),
        ]);
    }
    table
}

fn known_of(run: &CountedRun) -> String {
    let length = run.hours.map_or("an unknown time".into(), |hours| duration((hours * 3.6e12) as i64));
    format!(
        "{} in {length}; of the {} worst {} have a trace",
        counted(run.wakeups, "sample"),
        run.worst_samples,
        run.worst_with_trace
    )
}

fn rate(rate: Option<Rate>) -> String {
    rate.map_or("-".into(), |rate| format!("{} ({} to {})", rough(rate.seen), rough(rate.low), rough(rate.high)))
}

/// Three digits.
fn rough(number: f64) -> String {
    match number.abs() {
        0.0 => "0".into(),
        100.0.. => format!("{number:.0}"),
        10.0.. => format!("{number:.1}"),
        0.001.. => format!("{number:.3}").trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => format!("{number:.1e}"),
    }
}
