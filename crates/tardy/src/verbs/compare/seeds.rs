//! Two systems in virtual time, each as the runs of several seeds: opened, or measured for the comparison.

use super::CompareArguments;
use super::lay_out_differences;
use crate::archives::{RUNS, new_below};
use crate::exit::{Exit, UsageError};
use crate::measuring::signals::Signals;
use crate::measuring::variant::Variant;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use crate::virtual_time::laboratory::Laboratory;
use crate::virtual_time::recording::choice::Wanted;
use crate::virtual_time::recording::{Recording, record};
use crate::virtual_time::seed_runs::{OpenedRun, Seeds, archives_of, seed_runs};
use account::COMPARE_VERSION;
use anyhow::anyhow;
use archive::reader::Run;
use judge::virtual_time::{VirtualComparison, compare, seeds_needed};
use machines::meter_places::MeterPlaces;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use words::figures::microseconds;

/// Causes shown in text; `--json` has all of them.
const CAUSES_SHOWN: usize = 8;

/// A figure and six numbers for it.
const COLUMNS: &[Align] =
    &[Align::Left, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right, Align::Right];

/// Both systems, idle and loaded.
#[derive(Debug, Serialize)]
struct ComparedSystems {
    compare_version: u32,
    virtual_time: bool,
    a: String,
    b: String,
    idle: Option<VirtualComparison>,
    loaded: Option<VirtualComparison>,
}

/// Compares existing archives.
pub fn of_archives(arguments: &CompareArguments, [a, b]: [Vec<Run>; 2], command: &[String]) -> anyhow::Result<Exit> {
    let signals = arguments.record.map(|_| Signals::watch()).transpose()?;
    let open = |runs| opened(arguments, runs, command, signals.as_ref());
    let (a, b) = (open(a)?, open(b)?);
    if let Some(signals) = &signals {
        signals.measuring_is_over();
    }
    let names = [&arguments.a, &arguments.b].map(|name| name.as_deref().unwrap_or(Path::new("")).display().to_string());
    conclude(arguments, names, &a, &b)
}

/// Opens runs. If requested, those under load that are not recorded yet are recorded first.
fn opened(
    arguments: &CompareArguments,
    runs: Vec<Run>,
    command: &[String],
    signals: Option<&Signals>,
) -> anyhow::Result<Vec<OpenedRun>> {
    let of_one = |run: Run| {
        let opened = OpenedRun::of(run)?;
        let missing = opened.run().recordings.is_empty() && !opened.seed_run().is_idle();
        let Some((count, signals)) = arguments.record.zip(signals).filter(|_| missing) else { return Ok(opened) };
        let wanted = Wanted::Worst { count, controls: 0 };
        let recording = Recording { wanted, target: None, silent: arguments.json };
        OpenedRun::of(Run::open(record(opened.run(), &recording, command, signals)?)?)
    };
    runs.into_iter().map(of_one).collect()
}

/// Measures both sides and compares them.
pub fn of_options(arguments: &CompareArguments, options: [&str; 2], command: &[String]) -> anyhow::Result<Exit> {
    let [a, b] = options.map(|own| Variant::parse(own, &arguments.options, None));
    let variants = [a?, b?];
    for (_, target) in &variants {
        if !target.is_in_virtual_time() {
            let text = format!(
                "{} is not a target in virtual time; `tardy target add NAME --virtual-time` makes one, and \
                 `tardy experiment` compares machines of other kinds",
                target.name()
            );
            return Err(UsageError(text).into());
        }
    }
    let (seeds, needed) = (arguments.seeds, seeds_needed());
    if usize::try_from(seeds).is_ok_and(|seeds| seeds < needed) && !arguments.json {
        complain!(
            "tardy: {seeds} seeds show the wake-up path and causes; to show that a figure under load differs takes at least \
             --seeds {needed}"
        );
    }
    let directory = place(arguments.out.as_deref())?;
    let meter = MeterPlaces::of_process().find()?;
    let signals = Signals::watch()?;
    let mut sides = Vec::new();
    for (side, (variant, target)) in ["a", "b"].into_iter().zip(&variants) {
        let laboratory = Laboratory { target, meter: &meter, signals: &signals, command, quiet: arguments.json };
        let seeds = Seeds { settings: &variant.settings, count: arguments.seeds, idle_too: true };
        let runs = directory.join(side);
        seeds.measure(&laboratory, &runs)?;
        // Reopened like any other archive: by now it contains the explanations made after the measurement.
        sides.push(opened(arguments, archives_of(&runs)?, command, Some(&signals))?);
    }
    let names = ["a", "b"].map(|side| directory.join(side).display().to_string());
    conclude(arguments, names, &sides[0], &sides[1])
}

/// The directory for the archives.
fn place(out: Option<&Path>) -> anyhow::Result<PathBuf> {
    let Some(out) = out else {
        let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        return Ok(new_below(Path::new(RUNS), started.as_secs(), "compare")?.0);
    };
    if fs::read_dir(out).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(UsageError(format!("{} is not empty; choose another --out", out.display())).into());
    }
    fs::create_dir_all(out).map_err(|error| anyhow!("failed to create {}: {error}", out.display()))?;
    Ok(out.to_owned())
}

fn conclude(
    arguments: &CompareArguments,
    [a, b]: [String; 2],
    runs_a: &[OpenedRun],
    runs_b: &[OpenedRun],
) -> anyhow::Result<Exit> {
    let of = |idle: bool| -> anyhow::Result<Option<VirtualComparison>> {
        let (a, b) = (seed_runs(runs_a, idle), seed_runs(runs_b, idle));
        // If one side lacks a kind, the other kind is compared alone.
        let other_kind = !seed_runs(runs_a, !idle).is_empty() && !seed_runs(runs_b, !idle).is_empty();
        if (a.is_empty() || b.is_empty()) && (other_kind || (a.is_empty() && b.is_empty())) {
            return Ok(None);
        }
        Ok(Some(compare(&a, &b).map_err(|refusal| UsageError(refusal.to_string()))?))
    };
    let compared = ComparedSystems {
        compare_version: COMPARE_VERSION,
        virtual_time: true,
        a,
        b,
        idle: of(true)?,
        loaded: of(false)?,
    };
    if arguments.json {
        json::print(&compared)?;
    } else {
        lay_out(&compared, Page::for_stdout()).print()?;
    }
    let defect = [&compared.idle, &compared.loaded].into_iter().flatten().any(|one| one.defect.is_some());
    Ok(if defect { Exit::LimitExceeded } else { Exit::Measured })
}

fn lay_out(compared: &ComparedSystems, mut page: Page) -> Page {
    alarm_of_clock(true, true, &mut page);
    page.wrapped("A  ", &compared.a);
    page.wrapped("B  ", &compared.b);
    for (name, one) in [("Idle", &compared.idle), ("Under load", &compared.loaded)] {
        let Some(one) = one else { continue };
        page.blank();
        page.heading(&format!("{name}, {}", words::figures::counted(one.seeds.len() as u64, "seed")));
        lay_out_comparison(one, &mut page);
    }
    if let Some(one) = compared.loaded.as_ref().or(compared.idle.as_ref()) {
        lay_out_differences(&one.differences, &mut page);
    }
    page
}

fn lay_out_comparison(comparison: &VirtualComparison, page: &mut Page) {
    for caution in &comparison.cautions {
        page.wrapped("caution: ", &caution.text);
    }
    let causes = comparison.causes.iter().filter(|cause| cause.longer_ns != 0).count();
    for sentence in comparison.sentences.iter().take(comparison.sentences.len().min(CAUSES_SHOWN + 5)) {
        page.wrapped("* ", sentence);
    }
    if causes > CAUSES_SHOWN {
        page.line("  --json has all causes");
    }
    if comparison.identical == comparison.seeds.len() {
        return;
    }
    let mut table = Table::new(COLUMNS);
    table.row(["middle seed, µs", "A", "B", "B - A", "least", "most", "longer in B"]);
    for figure in &comparison.figures {
        let shift = figure.shift;
        let [a, b, middle, least, most] =
            [figure.a.median_ns, figure.b.median_ns, shift.median_ns, shift.least_ns, shift.most_ns].map(microseconds);
        let count = format!("{} of {}", figure.longer_in, comparison.seeds.len());
        table.row([figure.name.to_string(), a, b, middle, least, most, count]);
    }
    page.table(&table);
    page.wrapped("  ", "B - A is by how much each seed moved: the middle one, the least and the most.");
}
