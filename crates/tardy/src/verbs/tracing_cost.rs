//! `tardy experiment tracing-cost`: the cost of tracing for the traced wake-ups, measured in rounds of runs in a random order.

mod page;
mod question;
mod series;

use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::RunArguments;
use crate::measuring::machine::find;
use crate::measuring::rounds::{Question, Rounds, RoundsState, StoredSeries, new_directory, now, system_seed};
use crate::options::limits::confidence;
use crate::options::quantity::whole;
use crate::verb::{Parent, Place, Verb};
use archive::settings::{RunSettings, SnapshotMode};
use clap::{Args, ValueEnum};
use judge::coin::SEED_MAX;
use judge::observer::Level;
use judge::sign_flip::PAIRS_MAX;
use machines::KnownTarget;
use question::{Cost, Journal};
use std::path::PathBuf;

/// Measure what tracing costs: no trace, events, functions
#[derive(Debug, Args)]
pub struct TracingCostArguments {
    /// Rounds, each with one run at every level
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = whole::<u32>(1..=PAIRS_MAX as u64), help_heading = "Rounds")]
    rounds: u32,
    /// Levels to compare; `off` is always one of them
    #[arg(long, value_enum, value_delimiter = ',', default_value = "off,events,functions", help_heading = "Rounds")]
    levels: Vec<LevelName>,
    /// Confidence of each interval, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence, help_heading = "Rounds")]
    confidence: f64,
    /// Seed of the coin that decides the order, to repeat a series [default: from the system]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=SEED_MAX), help_heading = "Rounds")]
    coin_seed: Option<u64>,
    /// Continue an interrupted series with its own settings; show a complete one again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["rounds", "levels", "confidence", "coin_seed", "out", "target", "duration", "cycles", "interval", "loads"], help_heading = "Rounds")]
    resume: Option<PathBuf>,

    #[command(flatten)]
    run: RunArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LevelName {
    /// No tracing
    Off,
    /// The events a run records by itself
    Events,
    /// The events and every function of the kernel
    Functions,
}

impl LevelName {
    fn level(self) -> Level {
        match self {
            Self::Off => Level::Off,
            Self::Events => Level::Events,
            Self::Functions => Level::Functions,
        }
    }
}

impl Verb for TracingCostArguments {
    const NAME: &'static str = "tracing-cost";
    const PLACE: Place = Place::Below(Parent::Experiment);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy experiment tracing-cost --rounds 12 --duration 30s --load messaging",
        "tardy experiment tracing-cost --levels off,events --duration 10s",
        "tardy experiment tracing-cost --resume runs/2026-11-21T21-30-05-pi-observe",
    ];
    const NOTES: &'static str = "\
Every round measures once at each level, in random order. The cost is reported with an interval that is exact for any \
distribution of the latencies; 95 % needs at least 6 rounds.
Ctrl-C keeps the complete rounds; --resume continues.
Exit codes: 0 measured, 2 wrong usage, 3 could not measure, 4 too few rounds for an interval.";
    const FORMER_NAMES: &'static [&'static str] = &["observe"];

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, typed)
    }
}

fn run(arguments: &TracingCostArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let (directory, journal, target) = match &arguments.resume {
        Some(directory) => (directory.clone(), Journal::load(directory)?, None),
        None => begin(arguments, command)?,
    };
    let output = &arguments.run.output;
    let quiet = output.quiet || output.json;
    let journal = StoredSeries::complete(&directory, journal, target, arguments.run.silence(), quiet)?;
    journal.show(&directory, output.json, output.quiet, page::lay_out)?;
    Ok(match (&journal.result, journal.rounds.state) {
        (_, RoundsState::Failed) | (None, _) => Exit::NotMeasured,
        (Some(result), _) if result.no_interval.is_some() => Exit::NotEnoughData,
        (Some(_), _) => Exit::Measured,
    })
}

/// A new series: its directory, its journal, and its target.
fn begin(
    arguments: &TracingCostArguments,
    command: Vec<String>,
) -> anyhow::Result<(PathBuf, Journal, Option<KnownTarget>)> {
    let target = find(&arguments.run.target)?;
    let settings = settings(&arguments.run, &target)?;
    let levels: Vec<Level> =
        Level::ALL.into_iter().filter(|level| arguments.levels.iter().any(|name| name.level() == *level)).collect();
    let levels = if levels.contains(&Level::Off) { levels } else { [vec![Level::Off], levels].concat() };
    if levels.len() < 2 {
        return Err(UsageError("--levels needs one beside off to compare with, like off,events".into()).into());
    }
    let started = now();
    let name = format!("{}-observe", target.host_name());
    let directory = new_directory(arguments.run.output.out.as_deref(), started, &name)?;
    let rounds = Rounds::new(
        arguments.coin_seed.unwrap_or_else(|| system_seed(started)),
        arguments.rounds,
        levels.iter().map(|level| level.name().to_owned()).collect(),
    );
    let question = Cost {
        observe_version: Cost::VERSION,
        target: arguments.run.target.clone(),
        settings,
        levels_absent: Vec::new(),
        probed: false,
    };
    let journal = Journal::new(question, rounds, arguments.confidence, command, started);
    Ok((directory, journal, Some(target)))
}

fn settings(run: &RunArguments, target: &KnownTarget) -> Result<RunSettings, UsageError> {
    let settings = run.settings(target.is_in_virtual_time())?;
    if settings.trace.mode == SnapshotMode::Off || settings.trace.tracer.is_some() || !settings.sources.is_empty() {
        let text = "observe chooses the tracers itself: leave out --trace off, --tracer, --source and --stack";
        return Err(UsageError(text.into()));
    }
    if settings.limit_ns.is_some() {
        return Err(UsageError("observe judges no limit: leave out --limit".into()));
    }
    Ok(settings)
}
