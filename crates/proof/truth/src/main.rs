//! `tardy-truth`: carries out experiments with known causes, and prints what `tardy explain` made of them.

use anyhow::{Context, bail, ensure};
use archive::reader::Run;
use archive::spike::SpikeReason;
use archive::watched::WatchedKind;
use clap::Parser;
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use truth::document::{RESULTS_PART, with_part};
use truth::experiments::{EXPERIMENTS, Experiment, find};
use truth::injection::{Injection, as_executed, parse_log};
use truth::laboratory::{LOG, Laboratory, RUN, STOPS};
use truth::place::Place;
use truth::stopper::gaps_of_stops;
use truth::table::{Row, Table};
use truth::verdicts::{Account, Verdict, judge};

/// Make CPUs late in known ways, and count how often the cause is named
#[derive(Debug, Parser)]
struct Arguments {
    /// Directory of the experiments; existing ones are judged, not repeated
    #[arg(long, value_name = "DIR", default_value = "runs/truth")]
    out: PathBuf,
    /// Only these experiments, separated by commas
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    only: Vec<String>,
    /// Only at these places, separated by commas: here, 6.1, 6.1-rt, 6.12-rt, the latter three with -virtual-time, and
    /// arm64-6.1-rt-virtual-time
    #[arg(long, value_name = "PLACES", value_delimiter = ',')]
    at: Vec<String>,
    /// Injections to make in each experiment
    #[arg(long, value_name = "N", default_value_t = 40)]
    injections: u64,
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Measure nothing, judge what is there
    #[arg(long)]
    judge: bool,
    /// List every spike that was not named right
    #[arg(long)]
    misses: bool,
    /// Write the counts into this document, between its comments
    #[arg(long, value_name = "FILE")]
    document: Option<PathBuf>,
    /// The static injector; injectors for other architectures lie beside it, such as tardy-injector-arm64
    #[arg(long, value_name = "FILE", default_value = "dist/bin/tardy-injector")]
    injector: PathBuf,
    /// Directory with the kernels and their modules, from kernels/inject/build-for
    #[arg(long, value_name = "DIR", default_value = "dist/truth")]
    modules: PathBuf,
    /// The program whose explanations are judged
    #[arg(long, value_name = "FILE", default_value = "dist/bin/tardy")]
    tardy: PathBuf,
}

fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let laboratory = Laboratory {
        injector: arguments.injector.clone(),
        modules: arguments.modules.clone(),
        injections: arguments.injections,
        seed: arguments.seed,
    };
    for name in &arguments.only {
        ensure!(find(name).is_some(), "there is no experiment `{name}`");
    }
    let wanted = |name: &str, list: &[String]| list.is_empty() || list.iter().any(|one| one == name);
    let (mut table, mut failed) = (Table::default(), Vec::new());
    for experiment in EXPERIMENTS.iter().filter(|experiment| wanted(experiment.name, &arguments.only)) {
        for &place in experiment.places.iter().filter(|place| wanted(&place.name(), &arguments.at)) {
            let directory = arguments.out.join(place.name()).join(experiment.name);
            if !directory.is_dir() && !arguments.judge {
                eprintln!("{} at {}, seed {} ...", experiment.name, place.name(), laboratory.seed_of(experiment));
                if let Err(error) = laboratory.carry_out(experiment, place, &directory) {
                    eprintln!("{} at {}: {error:#}", experiment.name, place.name());
                    failed.push(format!("{} at {}", experiment.name, place.name()));
                }
            }
            if directory.is_dir() {
                match row(&arguments, experiment, place, &directory) {
                    Ok(row) => table.rows.push(row),
                    Err(error) => {
                        eprintln!("{} at {}: {error:#}", experiment.name, place.name());
                        failed.push(format!("{} at {}", experiment.name, place.name()));
                    }
                }
            }
        }
    }
    print!("{}", table.text());
    if let Some(path) = &arguments.document {
        let document = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
        let written = with_part(&document, RESULTS_PART, &table.summary())?;
        fs::write(path, written).with_context(|| format!("failed to write {}", path.display()))?;
    }
    failed.dedup();
    if !failed.is_empty() {
        println!("\nnot measured, or not judged: {}", failed.join(", "));
    }
    let below = table.below_the_goal();
    Ok(if below.is_empty() && failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn row(arguments: &Arguments, experiment: &'static Experiment, place: Place, directory: &Path) -> anyhow::Result<Row> {
    let log = directory.join(LOG);
    let log = fs::read_to_string(&log).with_context(|| format!("failed to read {}", log.display()))?;
    let mut injections = parse_log(&log);
    let run = Run::open(directory.join(RUN))?;
    if let (true, Some(problem)) = (injections.is_empty(), run.problems.first()) {
        bail!("nothing was injected: {}", problem.text);
    }
    if experiment.stopped {
        let stops = fs::read_to_string(directory.join(STOPS)).context("failed to read when the machine was stopped")?;
        injections = in_stops(&injections, &parse_log(&stops), &run)?;
    }
    let explanations = explanations(&arguments.tardy, &directory.join(RUN))?;
    let mut verdicts: Vec<Verdict> = Vec::new();
    for explanation in &explanations {
        let spike = run.spikes.iter().find(|spike| spike.number == explanation.spike);
        let Some(spike) = spike.filter(|spike| spike.reason != SpikeReason::Control && spike.snapshot.is_some()) else {
            continue;
        };
        // The injector may have other threads, which wait for each other.
        let is_other = |name: &str| run.watched.get(&spike.thread).is_none_or(|series| series.name != name);
        // It starts as an ordinary thread, which any more urgent one may delay.
        let before_its_work = spike.watched == Some(WatchedKind::Woken) && spike.sample.cycle == 0;
        if experiment.watched.is_some_and(is_other) || before_its_work {
            continue;
        }
        let seen = run.absences.get(&spike.number).filter(|_| !experiment.stopped);
        let absent = seen.map_or(&[][..], |seen| &seen.absences);
        let injections = as_executed(&injections, absent, spike.sample.cpu);
        let verdict = judge(experiment, place, &injections, spike, explanation);
        if arguments.misses && (verdict.is_miss() || verdict.wrong.is_some()) {
            println!("{} at {}: {verdict:?}", experiment.name, place.name());
        }
        verdicts.push(verdict);
    }
    let injected = injections.iter().map(|injection| injection.drawn.map_or(experiment.name, |drawn| drawn.name));
    Ok(Row { place: place.name(), experiment: experiment.name, injected: injected.collect(), verdicts })
}

/// The gaps in which the machine was stopped, by its own clock. The clocks are compared by the run.
fn in_stops(gaps: &[Injection], stops: &[Injection], run: &Run) -> anyhow::Result<Vec<Injection>> {
    let clocks = run.spikes.iter().filter_map(|spike| {
        let seen = run.absences.get(&spike.number)?;
        Some((spike.sample.due_ns, seen.host_minus_guest_ns))
    });
    let clocks: Vec<(i64, i64)> = clocks.collect();
    ensure!(!clocks.is_empty(), "the run has no record of its host's clock");
    let by_guest = stops.iter().filter_map(|stop| {
        let of = |&&(at_ns, difference_ns): &&(i64, i64)| (at_ns + difference_ns).abs_diff(stop.begin_ns);
        let (_, difference_ns) = clocks.iter().min_by_key(of)?;
        let (begin_ns, end_ns) = (stop.begin_ns - difference_ns, stop.end_ns - difference_ns);
        Some(Injection { drawn: None, begin_ns, end_ns, held_ns: None, unsure_ns: 0 })
    });
    Ok(gaps_of_stops(gaps, &by_guest.collect::<Vec<_>>()))
}

/// The part of the document of `tardy explain --json` that is judged.
#[derive(Deserialize)]
struct Document {
    spikes: Vec<Account>,
}

fn explanations(tardy: &Path, run: &Path) -> anyhow::Result<Vec<Account>> {
    let tardy = if tardy.components().count() > 1 { std::path::absolute(tardy)? } else { tardy.to_owned() };
    let ended = Command::new(&tardy)
        .args(["explain", "--json"])
        .arg(run)
        .output()
        .with_context(|| format!("failed to start {}", tardy.display()))?;
    ensure!(ended.status.success(), "tardy explain: {}", String::from_utf8_lossy(&ended.stderr));
    let document: Document = serde_json::from_slice(&ended.stdout)?;
    Ok(document.spikes)
}
