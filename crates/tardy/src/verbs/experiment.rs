//! `tardy experiment`: whether one way to run differs from another, in rounds of runs in a random order.

mod announcement;
mod page;

use crate::exit::{Exit, UsageError};
use crate::measuring::rounds::versus::{Journal, Versus};
use crate::measuring::rounds::{Question, Rounds, RoundsState, StoredSeries, new_directory, now, system_seed};
use crate::measuring::variant::Variant;
use crate::options::limits::confidence;
use crate::options::quantity::{positive_time_ns, whole};
use crate::verb::{Group, Place, Verb};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use judge::coin::SEED_MAX;
use judge::experiment::{ExperimentResult, Outcome, metrics};
use judge::sign_flip::PAIRS_MAX;
use machines::KnownTarget;
use std::path::PathBuf;
use std::time::Duration;
use words::printable::printable;

/// Find out whether B is worse than A, in randomised rounds
#[derive(Debug, Args)]
pub struct ExperimentArguments {
    /// Options of `tardy run` that make variant A
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    a: String,
    /// Options of `tardy run` that make variant B
    #[arg(long, value_name = "OPTIONS", default_value = "", allow_hyphen_values = true)]
    b: String,
    /// Shell command on this machine before each run of A
    #[arg(long, value_name = "COMMAND")]
    a_before: Option<String>,
    /// Shell command on this machine before each run of B
    #[arg(long, value_name = "COMMAND")]
    b_before: Option<String>,
    /// Rounds, each with one run of A and one of B
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = whole::<u32>(1..=PAIRS_MAX as u64))]
    rounds: u32,
    /// Stop as soon as the evidence decides, after any round
    #[arg(long)]
    until_decided: bool,
    /// Confidence of the verdict and of each interval, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence)]
    confidence: f64,
    /// Seed of the coin that decides the order [default: from the system]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=SEED_MAX))]
    coin_seed: Option<u64>,
    /// Name of the experiment in lists and on pages, such as 'psi off'
    #[arg(long, value_name = "NAME", value_parser = NonEmptyStringValueParser::new())]
    name: Option<String>,
    /// Directory of the series [default: runs/<time>-experiment]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Continue an interrupted series with its own settings; show a complete one again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["a", "b", "a_before", "b_before", "rounds", "until_decided", "confidence", "coin_seed", "name", "out", "both"])]
    resume: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Print only the path of the series
    #[arg(short, long, conflicts_with = "json")]
    quiet: bool,
    /// Give up a run if the meter sends nothing for TIME
    #[arg(long = "meter-timeout", value_name = "TIME", default_value = "30s", value_parser = positive_time_ns)]
    silence: u64,
    /// Options of `tardy run` that both variants share
    #[arg(last = true, value_name = "RUN OPTIONS")]
    both: Vec<String>,
}

impl Verb for ExperimentArguments {
    const NAME: &'static str = "experiment";
    const PLACE: Place = Place::Listed(Group::Prove);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy experiment --a '' --b '--cpu-dma-latency 0' -- --duration 60s --load messaging",
        "tardy experiment --a '--target vm-old' --b '--target vm-new' --rounds 12 -- --duration 5min",
        "tardy experiment --a '' --b '' -- --duration 20s",
        "tardy experiment --b-before 'ssh pi sudo tuned-adm profile realtime' --a-before 'ssh pi sudo tuned-adm profile balanced'",
    ];
    const NOTES: &'static str = "\
Options of `tardy run` after `--` apply to both variants. The same variant twice measures the noise floor.
Ctrl-C keeps the complete rounds; --resume continues.
Exit codes: 0 B is not shown to be worse, 1 B is worse, 2 wrong usage, 3 could not measure, 4 undecided: too few rounds, or runs that change each other.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, typed)
    }
}

fn run(arguments: &ExperimentArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let (directory, journal, machines) = match &arguments.resume {
        Some(directory) => (directory.clone(), Journal::load(directory)?, None),
        None => begin(arguments, command)?,
    };
    let silence = Duration::from_nanos(arguments.silence);
    let quiet = arguments.quiet || arguments.json;
    if !quiet && journal.rounds.state != RoundsState::Complete {
        announcement::lines(&journal, now()).iter().for_each(|line| complain!("{}", printable(line)));
    }
    let journal = StoredSeries::complete(&directory, journal, machines, silence, quiet)?;
    journal.show(&directory, arguments.json, arguments.quiet, page::lay_out)?;
    Ok(match (&journal.result, journal.rounds.state) {
        (Some(ExperimentResult { outcome: Outcome::Worse, .. }), _) => Exit::LimitExceeded,
        (_, RoundsState::Failed) | (None, _) => Exit::NotMeasured,
        (Some(result), _) => match result.outcome {
            Outcome::Worse => Exit::LimitExceeded,
            Outcome::Better | Outcome::NoDifferenceFound => Exit::Measured,
            Outcome::TooFewRounds | Outcome::Undecided => Exit::NotEnoughData,
        },
    })
}

/// A new series: its directory, its journal, and the targets of A and B.
type Begun = (PathBuf, Journal, Option<[KnownTarget; 2]>);

fn begin(arguments: &ExperimentArguments, command: Vec<String>) -> anyhow::Result<Begun> {
    let (a, target_a) = Variant::parse(&arguments.a, &arguments.both, arguments.a_before.clone())?;
    let (b, target_b) = Variant::parse(&arguments.b, &arguments.both, arguments.b_before.clone())?;
    let (method_a, method_b) = (a.settings.method.name(), b.settings.method.name());
    if method_a != method_b {
        let why = "they measure different paths, and their latencies do not compare";
        return Err(UsageError(format!("A measures by the method {method_a} and B by {method_b}: {why}")).into());
    }
    let samples = a.samples().min(b.samples());
    let started = now();
    let directory = new_directory(arguments.out.as_deref(), started, "experiment")?;
    let rounds = Rounds::new(
        arguments.coin_seed.unwrap_or_else(|| system_seed(started)),
        arguments.rounds,
        vec!["a".into(), "b".into()],
    );
    let question = Versus {
        experiment_version: Versus::VERSION,
        name: arguments.name.clone(),
        a,
        b,
        until_decided: arguments.until_decided,
        metrics: metrics(samples),
    };
    let journal = Journal::new(question, rounds, arguments.confidence, command, started);
    Ok((directory, journal, Some([target_a, target_b])))
}
