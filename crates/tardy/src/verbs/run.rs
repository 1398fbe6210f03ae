//! `tardy run`: one run, or the steps of a plan.

mod once;
mod seeds;

use crate::command_line::definition;
use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::RunArguments;
use crate::measuring::machine::AccessArguments;
use crate::measuring::rounds::Measuring;
use crate::measuring::signals::Signals;
use crate::options::quantity::positive_time_ns;
use crate::plans::checked::Overrides;
use crate::plans::load;
use crate::plans::round::{Repetition, Round, new_directory, repeat};
use clap::Args;
use clap::parser::ValueSource;
use machines::board::{AccessOptions, Purpose};
use machines::meter_places::MeterPlaces;
use std::path::PathBuf;
use std::time::Duration;

const EXAMPLES: &str = "\
Examples:
  tardy run --duration 20s --load messaging
  tardy run --duration 8h --interval 250us --cpus 2-3 --limit 100us --load-cmd 'make -j8'
  tardy run plans/smoke.toml
  tardy run plans/osadl.toml --every 12h
  tardy run plans/smoke.toml --target board --deploy rootfs.wic

Ctrl-C ends a run early and keeps its results; a second Ctrl-C kills it.
Exit codes: 0 measured, 1 limit exceeded, 2 wrong usage, 3 could not measure or the numbers are invalid; \
with a plan also 4 not enough data, and 1 only if a step shows that a limit is broken.";

/// Options that are allowed with a plan, by their ids; all others are keys of the plan.
const BESIDE_A_PLAN: [&str; 11] =
    ["plan", "resume", "every", "rounds", "duration", "target", "deploy", "wait", "out", "json", "quiet"];

/// Measure how late a machine wakes real-time threads, and why
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct RunVerb {
    /// Run the steps of this plan, a TOML file, instead; only --duration, --target, --deploy, --wait, --out, --json and
    /// --quiet apply to a plan
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    run: RunArguments,
    /// Continue a stopped plan in its directory: keep complete steps, repeat failed ones
    #[arg(long, value_name = "DIR", conflicts_with_all = ["plan", "out", "duration", "target"], help_heading = "Plan")]
    resume: Option<PathBuf>,
    /// Start a round of the plan every TIME
    #[arg(long, value_name = "TIME", value_parser = positive_time_ns, requires = "plan", help_heading = "Plan")]
    every: Option<u64>,
    /// Stop after N rounds [default: never]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "every", help_heading = "Plan")]
    rounds: Option<u32>,
    #[command(flatten)]
    access: AccessArguments,
    /// First install new software on the board, with the [deploy] command of its target file, which gets IMAGE; with a
    /// plan: on each of its boards, once per round
    #[arg(long, value_name = "IMAGE", num_args = 0..=1, default_missing_value = "", conflicts_with = "resume", help_heading = "Board")]
    deploy: Option<String>,
}

impl RunVerb {
    /// How to access a board.
    fn access(&self) -> AccessOptions {
        AccessOptions { deploy: self.deploy.clone(), ..self.access.options(Purpose::Run) }
    }

    fn is_of_plan(&self) -> bool {
        self.plan.is_some() || self.resume.is_some()
    }
}

/// Runs the verb; `command` is the command line as typed.
pub fn run(verb: &RunVerb, command: Vec<String>) -> anyhow::Result<Exit> {
    if verb.is_of_plan() {
        return run_plan(verb, command);
    }
    once::run(&verb.run, verb.access(), command)
}

/// Runs a plan once or repeatedly, or continues it.
fn run_plan(verb: &RunVerb, command: Vec<String>) -> anyhow::Result<Exit> {
    let typed = typed(&command);
    if let Some(option) = typed.iter().find(|typed| !BESIDE_A_PLAN.contains(&typed.id.as_str())) {
        let beside = "on the command line only --duration, --target, --deploy, --wait, --out, --every, --json and --quiet apply to a plan";
        return Err(UsageError(format!("set {} in the plan file; {beside}", option.shown)).into());
    }
    let value = |id: &str| typed.iter().find(|typed| typed.id == id).and_then(|typed| typed.value.clone());
    let overrides = Overrides { duration: value("duration"), target: value("target") };
    // Mistakes in a plan are reported before anything is looked up on this machine.
    let plan = verb.plan.as_deref().map(|path| load(path, &overrides)).transpose()?;
    let showing = verb.run.output.showing();
    let measuring = Measuring {
        meter: MeterPlaces::of_process().find()?,
        signals: Signals::watch()?,
        silence: verb.run.silence(),
        quiet: showing.json || showing.quiet,
        command,
    };
    let access = verb.access();
    let mut round = match (&verb.resume, plan) {
        (Some(directory), _) => Round::resume(directory.clone(), access, &measuring)?,
        (None, Some(plan)) => {
            if let Some(every) = verb.every {
                let every = Duration::from_nanos(every);
                let repetition = Repetition { every, rounds: verb.rounds, below: verb.run.output.out.clone() };
                return repeat(&plan, &overrides, &access, &repetition, &measuring, showing);
            }
            let directory = new_directory(verb.run.output.out.as_deref(), &plan.plan.name)?;
            Round::begin(plan, overrides, access, directory, &measuring)?
        }
        (None, None) => return Err(UsageError("name a plan, or --resume a directory".into()).into()),
    };
    round.run()?;
    measuring.signals.measuring_is_over();
    round.show(showing)
}

/// An option of the command line that is not a default.
struct Typed {
    id: String,
    /// As typed.
    shown: String,
    value: Option<String>,
}

fn typed(command: &[String]) -> Vec<Typed> {
    let definition = definition();
    let names = definition.find_subcommand("run").cloned();
    let Ok(matches) = definition.try_get_matches_from(command) else { return Vec::new() };
    let Some(run) = matches.subcommand_matches("run") else { return Vec::new() };
    let ids = run.ids().map(|id| id.as_str()).filter(|id| run.value_source(id) == Some(ValueSource::CommandLine));
    let options = names.iter().flat_map(|command| command.get_arguments().collect::<Vec<_>>());
    // A group of options has an id, too.
    let options: Vec<_> = options.collect();
    ids.filter_map(|id| {
        let option = options.iter().find(|option| option.get_id().as_str() == id)?;
        let shown = option.get_long().map_or_else(|| id.to_owned(), |long| format!("--{long}"));
        let value = run.get_raw(id).and_then(|mut values| values.next()).map(|raw| raw.to_string_lossy().into_owned());
        Some(Typed { id: id.into(), shown, value })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_typed_is_known() {
        let words = ["tardy", "run", "x.toml", "-D", "2s", "--policy", "rr"].map(String::from);
        let found: Vec<(String, Option<String>)> =
            typed(&words).into_iter().map(|typed| (typed.shown, typed.value)).collect();
        let mut shown: Vec<&str> = found.iter().map(|(shown, _)| shown.as_str()).collect();
        shown.sort();
        assert_eq!(shown, ["--duration", "--policy", "plan"]);
        assert!(found.contains(&("--duration".into(), Some("2s".into()))));
    }
}
