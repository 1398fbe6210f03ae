//! `tardy experiment bisect`: finds the first bad one in an ordered list of kernels, targets or settings. One step of it serves
//! `git bisect run`.

mod candidate;
mod git_step;
mod journal;
mod measuring;
mod search;

use crate::exit::{Exit, UsageError};
use crate::measuring::rounds::Measuring;
use crate::measuring::signals::Signals;
use crate::options::limits::LimitArguments;
use crate::options::quantity::{positive_time_ns, whole};
use crate::verb::{Parent, Place, Verb};
use clap::Args;
use judge::sign_flip::PAIRS_MAX;
use machines::meter_places::MeterPlaces;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Find the first bad one in a list of kernels, targets or settings
#[derive(Debug, Args)]
pub struct BisectArguments {
    /// Good end of the list; with --step and without --limit, what to compare with
    #[arg(long, value_name = "CANDIDATE", allow_hyphen_values = true)]
    good: Option<String>,
    /// Bad end of the list
    #[arg(long, value_name = "CANDIDATE", allow_hyphen_values = true, requires = "good")]
    bad: Option<String>,
    /// Candidates between the two ends, in order
    #[arg(value_name = "CANDIDATE", requires = "bad")]
    between: Vec<String>,
    /// File with all candidates, one per line, the good end first; lines that start with # are ignored
    #[arg(long, value_name = "FILE", conflicts_with_all = ["good", "bad", "between", "step"])]
    list: Option<PathBuf>,
    /// Measure once and exit with the code that `git bisect run` expects
    #[arg(long, conflicts_with_all = ["bad", "between", "out"])]
    step: bool,
    /// Shell command on this machine before a candidate is measured, which it finds in $TARDY_CANDIDATE
    #[arg(long, value_name = "COMMAND")]
    before: Option<String>,
    #[command(flatten)]
    limits: LimitArguments,
    /// In virtual time: seeds of each step; the first that exceeds the limit ends the step
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = whole::<u32>(1..=10_000))]
    seeds: u32,
    /// Elsewhere, without a limit: rounds of each experiment
    #[arg(long, value_name = "N", default_value_t = 12, value_parser = whole::<u32>(1..=PAIRS_MAX as u64))]
    rounds: u32,
    /// With --step, not in virtual time: steps that share the error, one for each halving and two for the ends
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = whole::<u32>(1..=1000), requires = "step")]
    steps: u32,
    /// Directory of the search [default: runs/<time>-bisect]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Give up a run if the meter sends nothing for TIME
    #[arg(long = "meter-timeout", value_name = "TIME", default_value = "30s", value_parser = positive_time_ns)]
    silence: u64,
    /// Options of `tardy run` that all candidates share
    #[arg(last = true, value_name = "RUN OPTIONS")]
    options: Vec<String>,
}

impl Verb for BisectArguments {
    const NAME: &'static str = "bisect";
    const PLACE: Place = Place::Below(Parent::Experiment);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy experiment bisect --good k1 --bad k8 k2 k3 k4 k5 k6 k7 --limit 'latency < 50us' --seeds 4 -- --duration 1s --load dentry",
        "tardy experiment bisect --list kernels.txt --before 'ssh pi boot-kernel \"$TARDY_CANDIDATE\"' -- --duration 5min --load messaging",
        "git bisect run sh -c 'make -j8 bzImage || exit 125; tardy experiment bisect --step --limit \"latency < 50us\" -- --target mine'",
    ];
    const NOTES: &'static str = "\
A candidate is a target; or options of `tardy run` if it starts with a dash; or, with --before, whatever that command \
does with $TARDY_CANDIDATE. In virtual time a step is exact for its seeds. Elsewhere it is a run judged by --limit, or without \
a limit an experiment against the good end, and the confidence covers all steps together.
Ctrl-C keeps the complete steps; the same command with the same --out continues.
Exit codes: 0 found, 2 wrong usage or an end that is not as stated, 3 could not measure, 4 only suspects.
With --step, for git: 0 good, 1 bad, 125 cannot be tested, 128 and above abort.";
    const FORMER_NAMES: &'static [&'static str] = &["bisect"];

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, typed)
    }

    /// `git bisect run` would take the exit code of wrong usage for a bad commit.
    fn exit_code(exit: Exit, words: &[OsString]) -> ExitCode {
        let is_step = words.iter().any(|word| word == "--step");
        if is_step && exit == Exit::Usage { Exit::GiveUp.into() } else { exit.into() }
    }
}

fn run(arguments: &BisectArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    if arguments.step {
        return Ok(git_step::run(arguments, command));
    }
    search::run(arguments, command)
}

fn measuring(arguments: &BisectArguments, command: Vec<String>) -> anyhow::Result<Measuring> {
    Ok(Measuring {
        meter: MeterPlaces::of_process().find()?,
        signals: Signals::watch()?,
        silence: Duration::from_nanos(arguments.silence),
        quiet: arguments.json,
        command,
    })
}

/// The candidates, from the good end.
fn candidates(arguments: &BisectArguments) -> Result<Vec<String>, UsageError> {
    let list = match (&arguments.list, &arguments.good, &arguments.bad) {
        (Some(path), ..) => {
            let text = std::fs::read_to_string(path)
                .map_err(|error| UsageError(format!("failed to read {}: {error}", path.display())))?;
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
            lines.map(str::to_owned).collect()
        }
        (None, Some(good), Some(bad)) => {
            let between = arguments.between.iter().cloned();
            std::iter::once(good.clone()).chain(between).chain([bad.clone()]).collect::<Vec<String>>()
        }
        _ => return Err(UsageError("name the ends with --good and --bad, or all candidates with --list".into())),
    };
    if list.len() < 2 {
        return Err(UsageError("a list has at least two candidates: the good end and the bad end".into()));
    }
    Ok(list)
}
