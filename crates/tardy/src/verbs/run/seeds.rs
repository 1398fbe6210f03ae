//! `tardy run --seeds N`: several trajectories of one system in virtual time, and the worst of all.

use crate::archives::make_new;
use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::RunArguments;
use crate::measuring::ending::exit_of;
use crate::measuring::signals::Signals;
use crate::terminal::clock_alarm::alarm_of_clock;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use crate::virtual_time::laboratory::{Laboratory, Trajectory};
use archive::settings::RunSettings;
use archive::summary::{RunSummary, VirtualSpeed};
use machines::KnownTarget;
use report::account::virtual_speed_words;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use words::figures::{count, latency, microseconds};

/// One trajectory.
#[derive(Debug, Serialize)]
struct Explored {
    seed: u64,
    archive: PathBuf,
    sha256: String,
    cycles: u64,
    over_limit: u64,
    p50_ns: Option<i64>,
    p99_ns: Option<i64>,
    max_ns: Option<i64>,
    speed: Option<VirtualSpeed>,
}

/// Runs `seeds` seeds, starting with that of the settings.
pub fn run(
    (arguments, target): (&RunArguments, &KnownTarget),
    seeds: u32,
    settings: &RunSettings,
    command: &[String],
    meter: &Path,
    signals: &Signals,
) -> anyhow::Result<Exit> {
    if !target.is_in_virtual_time() {
        let why = "--seeds explores a machine in virtual time; `tardy target add NAME --virtual-time` makes one";
        return Err(UsageError(why.into()).into());
    }
    let started = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (directory, _) = make_new(arguments.output.out.as_deref(), started.as_secs(), &target.host_name())?;
    let laboratory = Laboratory { target, meter, signals, command, quiet: arguments.output.quiet };
    let (mut explored, mut exit) = (Vec::new(), Exit::Measured);
    let first = settings.dither_seed.unwrap_or_default();
    for seed in (first..).take(seeds as usize) {
        let settings = RunSettings { dither_seed: Some(seed), ..settings.clone() };
        let run = laboratory.run(&settings, directory.join(format!("seed-{seed:04}")))?;
        let summary = RunSummary::of(&run, &[]);
        exit = worse(exit, exit_of(&summary));
        explored.push(explored_of(seed, &run.directory, &summary, Trajectory::of(&run)?.sha256));
    }
    show(arguments, &directory, &explored)?;
    Ok(exit)
}

/// If one trajectory is unusable or too late, so is the whole set.
fn worse(one: Exit, other: Exit) -> Exit {
    match (one, other) {
        (Exit::NotMeasured, _) | (_, Exit::NotMeasured) => Exit::NotMeasured,
        (Exit::Measured, other) => other,
        (one, _) => one,
    }
}

fn explored_of(seed: u64, archive: &Path, summary: &RunSummary, sha256: String) -> Explored {
    let figures = summary.cpus.first().map(|cpu| &cpu.latency_ns);
    Explored {
        seed,
        archive: archive.to_owned(),
        sha256,
        cycles: summary.cpus.iter().map(|cpu| cpu.cycles).sum(),
        over_limit: summary.cpus.iter().map(|cpu| cpu.over_limit).sum(),
        p50_ns: figures.and_then(|figures| figures.p50),
        p99_ns: figures.and_then(|figures| figures.p99),
        max_ns: summary.all_cpus.max,
        speed: summary.virtual_speed,
    }
}

/// All runs combined; `None` if one of them did not reach its end.
fn together(explored: &[Explored]) -> Option<VirtualSpeed> {
    let speeds: Option<Vec<VirtualSpeed>> = explored.iter().map(|one| one.speed).collect();
    let sum = |part: fn(&VirtualSpeed) -> i64| speeds.as_ref().map(|speeds| speeds.iter().map(part).sum());
    Some(VirtualSpeed { guest_ns: sum(|speed| speed.guest_ns)?, host_ns: sum(|speed| speed.host_ns)? })
}

fn show(arguments: &RunArguments, directory: &Path, explored: &[Explored]) -> anyhow::Result<()> {
    let worst = explored.iter().max_by_key(|one| one.max_ns);
    if arguments.output.json {
        let document = serde_json::json!({ "virtual_time": true, "archive": directory, "seeds": explored,
            "worst_seed": worst.map(|worst| worst.seed) });
        return json::print(&document);
    }
    let mut page = Page::for_stdout();
    if arguments.output.quiet {
        page.line(&directory.display().to_string());
        return Ok(page.print()?);
    }
    alarm_of_clock(true, true, &mut page);
    let mut table = Table::new(&[Align::Right; 6]);
    table.row(["seed", "cycles", "over limit", "p50", "p99", "max µs"]);
    for one in explored {
        let micros = |ns: Option<i64>| ns.map_or("-".into(), microseconds);
        let figures = [one.p50_ns, one.p99_ns, one.max_ns].map(micros);
        let [p50, p99, max] = figures.each_ref().map(String::as_str);
        let (seed, cycles, over) = (one.seed.to_string(), one.cycles.to_string(), one.over_limit.to_string());
        table.row([seed.as_str(), &cycles, &over, p50, p99, max]);
    }
    page.headed_table(&table);
    if let Some((worst, max_ns)) = worst.and_then(|worst| Some((worst, worst.max_ns?))) {
        page.wrapped(
            "",
            &format!(
                "The worst of {} trajectories is seed {}: {} late in virtual time. The same plan with --seed {} shows it again.",
                count(explored.len() as u64),
                worst.seed,
                latency(max_ns),
                worst.seed
            ),
        );
    }
    if let Some(speed) = together(explored) {
        page.wrapped("", &virtual_speed_words(speed));
    }
    page.record(0, &format!("The archives are in {}.", directory.display()));
    Ok(page.print()?)
}
