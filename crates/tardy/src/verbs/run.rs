//! `tardy run`: one run, or the steps of a plan.

mod once;
mod seeds;

use crate::command_line::definition;
use crate::exit::{Exit, UsageError};
use crate::measuring::arguments::RunArguments;
use crate::measuring::arguments::declared::InPlans;
use crate::measuring::machine::AccessArguments;
use crate::measuring::rounds::Measuring;
use crate::measuring::signals::Signals;
use crate::options::quantity::{positive_time_ns, whole};
use crate::plans::checked::Overrides;
use crate::plans::length::warn;
use crate::plans::load;
use crate::plans::round::{Repetition, Round, new_directory, repeat};
use crate::verb::{Group, Place, Verb};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, Args, Command};
use machines::board::{AccessOptions, Purpose};
use machines::meter_places::MeterPlaces;
use std::path::PathBuf;
use std::time::Duration;

/// Measure how late a machine wakes threads, and why
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct RunVerb {
    /// Run the steps of this plan, a TOML file, instead; most options are keys of the plan
    #[arg(value_name = "PLAN")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    run: RunArguments,
    /// Continue a stopped plan in its directory: keep complete steps, repeat failed ones
    #[arg(long, value_name = "DIR", conflicts_with_all = ["plan", "out", "duration", "target"], help_heading = "Plan", hide_short_help = true)]
    resume: Option<PathBuf>,
    /// Start a round of the plan every TIME
    #[arg(long, value_name = "TIME", value_parser = positive_time_ns, requires = "plan", help_heading = "Plan", hide_short_help = true)]
    every: Option<u64>,
    /// Stop after N rounds [default: never]
    #[arg(long, value_name = "N", value_parser = whole::<u32>(1..), requires = "every", help_heading = "Plan", hide_short_help = true)]
    rounds: Option<u32>,
    #[command(flatten)]
    access: AccessArguments,
    /// First install new software on the board, with the [deploy] command of its target file, which gets IMAGE; with a
    /// plan: on each of its boards, once per round
    #[arg(long, value_name = "IMAGE", num_args = 0..=1, default_missing_value = "", conflicts_with = "resume", help_heading = "Board", hide_short_help = true)]
    deploy: Option<String>,
    /// Print help with the options that most people use
    #[arg(short, long, action = ArgAction::HelpShort)]
    help: Option<bool>,
    /// Print help with every option
    #[arg(long, action = ArgAction::HelpLong)]
    help_all: Option<bool>,
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

impl Verb for RunVerb {
    const NAME: &'static str = "run";
    const PLACE: Place = Place::Listed(Group::Measure);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy run --duration 20s --load messaging",
        "tardy run --duration 8h --interval 250us --cpus 2-3 --limit 100us --load-cmd 'make -j8'",
        "tardy run plans/smoke.toml",
        "tardy run plans/osadl.toml --every 12h",
        "tardy run plans/smoke.toml --target board --deploy rootfs.wic",
    ];
    const NOTES: &'static str = "\
Ctrl-C ends a run early and keeps its results; a second Ctrl-C kills it.
Exit codes: 0 measured, 1 limit exceeded, 2 wrong usage, 3 could not measure or the numbers are invalid; \
with a plan also 4 not enough data, and 1 only if a step shows that a limit is broken.";

    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self, typed)
    }

    fn tip(option: &str) -> Option<&'static str> {
        let tip = "`tardy cyclictest` takes all options of cyclictest, and prints what it prints";
        (!option.starts_with("--")).then_some(tip)
    }
}

/// Runs the verb; `command` is the command line as typed.
fn run(verb: &RunVerb, command: Vec<String>) -> anyhow::Result<Exit> {
    if verb.is_of_plan() {
        return run_plan(verb, command);
    }
    once::run(&verb.run, verb.access(), command)
}

/// Runs a plan once or repeatedly, or continues it.
fn run_plan(verb: &RunVerb, command: Vec<String>) -> anyhow::Result<Exit> {
    let typed = typed(&command);
    if let Some(refused) = typed.iter().find_map(Typed::refused_beside_a_plan) {
        let allowed = allowed_beside_a_plan();
        return Err(UsageError(format!("{refused}; on the command line only {allowed} apply to a plan")).into());
    }
    let value = |id: &str| typed.iter().find(|typed| typed.id == id).and_then(|typed| typed.value.clone());
    let overrides = Overrides { duration: value("duration"), target: value("target") };
    // Mistakes in a plan are reported before anything is looked up on this machine.
    let plan = verb.plan.as_deref().map(|path| load(path, &overrides)).transpose()?;
    plan.iter().for_each(warn);
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
    /// `None` of an option that is about plans itself.
    in_plans: Option<InPlans>,
}

impl Typed {
    /// Why it does not apply to a plan, if it does not.
    fn refused_beside_a_plan(&self) -> Option<String> {
        let shown = &self.shown;
        Some(match self.in_plans.filter(|in_plans| !in_plans.beside)?.key {
            Ok(place) => format!("set {shown} in the plan file: `{}` in [{}]", self.id, place.name()),
            Err(instead) => format!("leave out {shown} with a plan: {instead}"),
        })
    }
}

/// The options that the command line may have beside a plan.
fn allowed_beside_a_plan() -> String {
    let definition = definition();
    let options = definition.find_subcommand("run").into_iter().flat_map(Command::get_arguments);
    let is_allowed = |option: &&Arg| option.get::<InPlans>().is_none_or(|in_plans| in_plans.beside);
    let is_help = |option: &Arg| matches!(option.get_action(), ArgAction::HelpShort | ArgAction::HelpLong);
    let allowed = options.filter(is_allowed).filter(|option| !is_help(option)).filter_map(Arg::get_long);
    allowed.map(|long| format!("--{long}")).collect::<Vec<_>>().join(", ")
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
        Some(Typed { id: id.into(), shown, value, in_plans: option.get::<InPlans>().copied() })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_short_help_has_fifteen_options_and_the_long_one_all() {
        let definition = definition();
        let run = definition.find_subcommand("run").unwrap();
        let visible = |option: &&clap::Arg| !option.is_hide_short_help_set() && option.get_long().is_some();
        let about_help = |option: &&clap::Arg| option.get_id().as_str().starts_with("help");
        assert_eq!(run.get_arguments().filter(visible).filter(|option| !about_help(option)).count(), 15);
        let help = |flag: &str| {
            let refused = super::definition().try_get_matches_from(["tardy", "run", flag]).unwrap_err();
            refused.render().to_string()
        };
        assert!(
            help("--help").contains("--interval") && !help("--help").contains("--worst-kept"),
            "{}",
            help("--help")
        );
        for option in run.get_arguments().filter_map(|option| option.get_long()) {
            assert!(help("--help-all").contains(&format!("--{option}")), "{option}");
        }
    }

    #[test]
    fn an_option_beside_a_plan_is_refused_with_what_the_plan_has() {
        let refused = |words: &[&str]| {
            let words: Vec<String> =
                ["tardy", "run", "x.toml"].iter().chain(words).map(|word| (*word).into()).collect();
            typed(&words).iter().find_map(Typed::refused_beside_a_plan)
        };
        let words = [
            "-D", "1s", "--target", "vm", "--out", "x", "--quiet", "--every", "1h", "--rounds", "2", "--wait",
            "--deploy",
        ];
        assert_eq!(refused(&words), None);
        assert!(refused(&["-p", "9"]).unwrap().contains("`priority` in [measurement]"));
        assert!(refused(&["--no-counters"]).unwrap().contains("`counters` in [measurement]"));
        assert!(refused(&["-b", "1ms"]).unwrap().contains("[[limits]]"));
    }

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
