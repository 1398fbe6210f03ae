//! `tardy tune`: which of many settings lower the latency of a target, and the price of each.

mod application;
mod candidate;
mod document;
mod files;
mod firmware;
mod page;
mod question;
mod series;

use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::RunArguments;
use crate::measuring::machine::{ask, find};
use crate::measuring::rounds::{Question, Rounds, RoundsState, StoredSeries, new_directory, now, system_seed};
use crate::measuring::variant::{samples, threads};
use crate::options::limits::confidence;
use crate::options::quantity::{percentage, positive_time_ns, time, whole};
use crate::verb::{Place, Verb};
use archive::facts::Applied;
use archive::settings::{RunSettings, SettingChange};
use candidate::{Candidate, Candidates};
use clap::Args;
use judge::coin::SEED_MAX;
use judge::tune::{Configuration, Goal, TuneState};
use machines::meter_places::MeterPlaces;
use machines::{KnownTarget, Target};
use question::{Journal, Tuning};
use readiness::{Checklist, Profile, Readiness, Subject, check};
use runner::facts::{apply, gather};
use runner::restore::restore;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;
use words::printable::printable;

/// A slow board needs seconds to read several thousand files.
const LIMIT: Duration = Duration::from_secs(60);
const LEAST_DEFAULT: &str = "10";
const BUDGET_DEFAULT: &str = "8h";

/// Find out which settings lower the latency, and what each costs
#[derive(Debug, Args)]
pub struct TuneArguments {
    /// Figure of each run to lower: p99, p99.9, p99.99, worst, or over/h with --limit
    #[arg(long, value_name = "FIGURE", default_value = "p99.9", help_heading = "Tuning")]
    goal: Goal,
    /// Time for all runs
    #[arg(long, value_name = "TIME", default_value = BUDGET_DEFAULT, value_parser = positive_time_ns, help_heading = "Tuning")]
    budget: u64,
    /// Least change of interest, in percent
    #[arg(long, value_name = "PERCENT", default_value = LEAST_DEFAULT, value_parser = percentage, help_heading = "Tuning")]
    least: f64,
    /// Also try these changes, as 'NAME: PATH=VALUE; boot WORD; boot-without WORD' or 'NAME: firmware TEXT'; may be repeated
    #[arg(long = "candidate", value_name = "CHANGES", help_heading = "Tuning")]
    candidates: Vec<String>,
    /// Leave out this setting, by its name; may be repeated
    #[arg(long, value_name = "NAME", help_heading = "Tuning")]
    without: Vec<String>,
    /// Try only what --candidate names, not what `tardy check` finds
    #[arg(long, requires = "candidates", help_heading = "Tuning")]
    only_candidates: bool,
    /// Also try settings of a board's firmware; asks for each boot on the terminal
    #[arg(long, help_heading = "Tuning")]
    firmware: bool,
    /// Confidence of the result, in percent
    #[arg(long, value_name = "PERCENT", default_value = "95", value_parser = confidence, help_heading = "Tuning")]
    confidence: f64,
    /// Seed of the coin that decides settings and order [default: from the system]
    #[arg(long, value_name = "N", value_parser = whole::<u64>(0..=SEED_MAX), help_heading = "Tuning")]
    coin_seed: Option<u64>,
    /// Continue an interrupted series with its own settings; show a complete one again
    #[arg(long, value_name = "DIR", conflicts_with_all = ["goal", "budget", "least", "candidates", "without", "firmware", "confidence", "coin_seed", "out", "target", "duration", "cycles", "interval", "loads"], help_heading = "Tuning")]
    resume: Option<PathBuf>,
    /// Make the changes of a result until the next boot; in the target file of a virtual machine
    #[arg(long, value_name = "DIR", conflicts_with = "resume", help_heading = "Tuning")]
    apply: Option<PathBuf>,
    /// Revert the changes that --apply made
    #[arg(long, value_name = "DIR", conflicts_with_all = ["resume", "apply"], help_heading = "Tuning")]
    undo: Option<PathBuf>,

    #[command(flatten)]
    run: RunArguments,
}

impl Verb for TuneArguments {
    const NAME: &'static str = "tune";
    const PLACE: Place = Place::Hidden;
    const EXAMPLES: &'static [&'static str] = &[
        "tardy tune --duration 60s --load messaging",
        "tardy tune --target board --goal worst --budget 8h --duration 60s",
        "tardy tune --goal over/h --limit 100us --duration 5min --without scheduler.throttling",
        "tardy tune --only-candidates --candidate 'no-ksm: /sys/kernel/mm/ksm/run=0' --duration 60s",
        "tardy tune --apply runs/2026-11-21T21-30-05-pi-tune",
        "tardy tune --undo runs/2026-11-21T21-30-05-pi-tune",
    ];
    const NOTES: &'static str = "\
`tardy check` names the settings to try. Every run has some of them and is restored afterwards. Ctrl-C keeps the complete rounds; \
--resume continues.
Exit codes: 0 decided, 2 wrong usage, 3 could not measure, 4 the budget ended before.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        match (&self.apply, &self.undo) {
            (Some(directory), _) => application::make(directory),
            (None, Some(directory)) => application::undo(directory),
            (None, None) => run(self, typed),
        }
    }
}

fn run(arguments: &TuneArguments, command: Vec<String>) -> anyhow::Result<Exit> {
    let (directory, journal, target) = match &arguments.resume {
        Some(directory) => (directory.clone(), Journal::load(directory)?, None),
        None => begin(arguments, command)?,
    };
    let output = &arguments.run.output;
    let quiet = output.quiet || output.json;
    if !quiet && journal.rounds.state != RoundsState::Complete {
        page::announcement(&journal).iter().for_each(|line| complain!("{}", printable(line)));
    }
    let journal = if journal.question.candidates.is_empty() {
        journal
    } else {
        StoredSeries::complete(&directory, journal, target, arguments.run.silence(), quiet)?
    };
    files::write(&directory, &journal)?;
    document::write(&directory, &journal)?;
    journal.show(&directory, output.json, output.quiet, page::lay_out)?;
    Ok(match (&journal.result, journal.rounds.state) {
        (_, RoundsState::Failed) | (None, _) => Exit::NotMeasured,
        (Some(tuned), _) if tuned.result.state == TuneState::Decided => Exit::Measured,
        (Some(_), _) => Exit::NotEnoughData,
    })
}

/// A new series: its directory, its journal, and its target.
fn begin(arguments: &TuneArguments, command: Vec<String>) -> anyhow::Result<(PathBuf, Journal, Option<KnownTarget>)> {
    let mut own: Vec<Candidate> =
        arguments.candidates.iter().map(|text| Candidate::parse(text)).collect::<Result<_, UsageError>>()?;
    if arguments.firmware {
        own.extend(firmware::candidates());
    }
    let target = find(&arguments.run.target)?;
    let settings = arguments.run.settings(target.is_in_virtual_time()).map_err(UsageError::from)?;
    measurable(arguments, &settings)?;
    let candidates = possible(arguments, &own, &target, &settings)?;
    let started = now();
    let name = format!("{}-tune", target.host_name());
    let directory = new_directory(arguments.run.output.out.as_deref(), started, &name)?;
    let rounds = Rounds::new(arguments.coin_seed.unwrap_or_else(|| system_seed(started)), u32::MAX, Vec::new());
    let question = Tuning {
        tune_version: Tuning::VERSION,
        target: arguments.run.target.clone(),
        settings,
        goal: arguments.goal.clone(),
        budget_ns: arguments.budget,
        candidates: candidates.tried,
        left_out: candidates.left_out,
        question: None,
        least: 1.0 + arguments.least / 100.0,
        firmware_set: Configuration::NONE,
        boot_id: None,
        measured: BTreeMap::new(),
    };
    let journal = Journal::new(question, rounds, arguments.confidence, command, started);
    // A series that is killed in its first run can be resumed.
    journal.save(&directory)?;
    Ok((directory, journal, Some(target)))
}

/// Checks that a run of these settings has the figure.
fn measurable(arguments: &TuneArguments, settings: &RunSettings) -> Result<(), UsageError> {
    if arguments.goal == Goal::OverLimit && settings.limit_ns.is_none() {
        return Err(UsageError("--goal over/h counts periods over a limit: name it with --limit".into()));
    }
    if arguments.least <= 0.0 {
        return Err(UsageError("--least is a percentage above 0".into()));
    }
    let needed = arguments.goal.samples_needed();
    if samples(settings) < needed {
        let length = time((needed / threads(settings) * settings.interval_ns as f64).ceil() as u64);
        let goal = page::goal_words(&arguments.goal);
        return Err(UsageError(format!("{goal} needs {needed:.0} wake-ups a run: --duration {length} or longer")));
    }
    Ok(())
}

/// The candidates that this target accepts: each is set once, and restored.
fn possible(
    arguments: &TuneArguments,
    own: &[Candidate],
    known: &KnownTarget,
    settings: &RunSettings,
) -> anyhow::Result<Candidates> {
    let gathered = |readiness: Option<&Readiness>| {
        let findings = readiness.into_iter().flat_map(|readiness| readiness.to_fix(true));
        Candidates::gather(own, findings, &arguments.without, known)
    };
    // A machine in virtual time runs a measurement and nothing else.
    if known.is_in_virtual_time() {
        return Ok(gathered(None));
    }
    let meter = MeterPlaces::of_process().find()?;
    ask(known, &meter, |target| {
        let limit = set_limit(target);
        let readiness = match arguments.only_candidates {
            true => None,
            false => {
                let facts = gather(target, &meter, settings.priority, limit)?;
                let subject =
                    Subject { cpus: settings.cpus.clone(), priority: settings.priority, profile: Profile::Auto };
                Some(check(&facts, &subject, &Checklist::default(), &[]))
            }
        };
        let mut candidates = gathered(readiness.as_ref());
        let applied = set_once(target, &meter, &candidates.changes(), limit)?;
        candidates.keep_possible(&applied);
        Ok(candidates)
    })
}

/// Time for changing or reading all settings.
fn set_limit(target: &dyn Target) -> Duration {
    LIMIT * target.slowdown()
}

fn set_once(
    target: &mut dyn Target,
    meter: &Path,
    changes: &[SettingChange],
    limit: Duration,
) -> anyhow::Result<Vec<Applied>> {
    if changes.is_empty() {
        return Ok(Vec::new());
    }
    let applied = apply(target, meter, changes, limit);
    if !target.forgets() {
        restore(target, meter, limit)?;
    }
    Ok(applied?)
}
