//! The command line: one file per verb. Verbs return how they ended; only this module turns that into an exit code.

#[cfg(test)]
mod documented;
mod first_page;
mod groups;

use crate::defect;
use crate::exit::{Exit, in_words};
use crate::refusal::{Document, Failure};
use crate::terminal::folded::{help_for_stdout, refusal_for_stderr};
use crate::terminal::json;
#[cfg(feature = "lab")]
use crate::verbs::serve;
use crate::verbs::{
    audit, baseline, bisect, check, collect, compare, completions, cyclictest, experiment, explain, export, history,
    import, judge, list, load, man, methods, observe, plan, record, replay, report, restore, run, target, verify,
    watch,
};
#[cfg(feature = "lab")]
use crate::verbs::{publish, queue, store, verify_publication, worker};
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use words::printable::printable;

const AFTER_HELP: &str = "\
Exit codes: 0 measured, 1 limit exceeded, 2 wrong usage, 3 could not measure or the numbers are invalid, \
4 not enough data, 70 a defect of tardy.
Times take a unit everywhere: 100us, 1.5ms, 20s, 2h.";

/// Find out how late Linux wakes your task, and why.
#[derive(Debug, Parser)]
#[command(name = "tardy", version, after_help = AFTER_HELP, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, Subcommand)]
enum Verb {
    Check(Box<check::CheckArguments>),
    Run(Box<run::RunVerb>),
    Watch(Box<watch::WatchArguments>),
    Audit(Box<audit::AuditArguments>),
    Collect(collect::CollectArguments),
    Plan(plan::PlanArguments),
    Explain(explain::ExplainArguments),
    Report(report::ReportArguments),
    Export(export::ExportArguments),
    Import(import::ImportArguments),
    #[cfg(feature = "lab")]
    Publish(publish::PublishArguments),
    #[cfg(feature = "lab")]
    Verify(verify_publication::VerifyPublicationArguments),
    #[cfg(feature = "lab")]
    Serve(serve::ServeArguments),
    #[cfg(feature = "lab")]
    Store(store::StoreArguments),
    #[cfg(feature = "lab")]
    Queue(queue::QueueArguments),
    #[cfg(feature = "lab")]
    Worker(worker::WorkerArguments),
    Cyclictest(cyclictest::CyclictestArguments),
    Observe(Box<observe::ObserveArguments>),
    Judge(judge::JudgeArguments),
    Compare(compare::CompareArguments),
    Experiment(Box<experiment::ExperimentArguments>),
    History(history::HistoryArguments),
    Bisect(Box<bisect::BisectArguments>),
    Virtual(VirtualArguments),
    List(list::ListArguments),
    Load(load::LoadArguments),
    Methods(methods::MethodsArguments),
    Restore(restore::RestoreArguments),
    Target(target::TargetArguments),
    Completions(completions::CompletionsArguments),
    Man(man::ManArguments),
}

/// Record, replay, verify runs in virtual time; keep baselines
#[derive(Debug, Args)]
struct VirtualArguments {
    #[command(subcommand)]
    verb: VirtualVerb,
}

#[derive(Debug, Subcommand)]
enum VirtualVerb {
    Record(record::RecordArguments),
    Replay(replay::ReplayArguments),
    Baseline(baseline::BaselineArguments),
    Verify(verify::VerifyArguments),
}

/// The definition of the whole command line, for parsing, completions and man pages.
pub fn definition() -> clap::Command {
    let verbs = Arguments::command().mut_subcommand("watch", watch::own_help).mut_subcommand("audit", audit::own_help);
    groups::arranged(verbs)
}

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    defect::print_panics_as_lines();
    #[cfg(feature = "lab")]
    crate::lab::child::end_with_worker();
    let typed: Vec<OsString> = std::env::args_os().collect();
    defect::unless_defective(|| obey(&typed)).unwrap_or_else(|| {
        if asks_for_json(&typed) {
            let _ = json::print(&Document::new(&Failure::Defect));
        }
        Exit::Defect.into()
    })
}

fn obey(typed: &[OsString]) -> ExitCode {
    let parsed = definition().try_get_matches_from(typed);
    let arguments = match parsed.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments,
        Err(refusal) => {
            let refusal = advised(refusal, typed);
            // Help and version were requested and go to standard output; everything else is wrong usage.
            if refusal.use_stderr() {
                complain!("{}", refusal_for_stderr(&refusal).trim_end());
            } else {
                let mut output = io::stdout();
                let _ = output.write_all(help_for_stdout(&refusal).as_bytes()).and_then(|()| output.flush());
            }
            if refusal.use_stderr() && asks_for_json(typed) {
                let _ = json::print(&Document::new(&Failure::CommandLine(refusal.to_string())));
            }
            // `git bisect run` would take the exit code of wrong usage for a bad commit.
            let for_git =
                typed.get(1).is_some_and(|verb| verb == "bisect") && typed.iter().any(|word| word == "--step");
            let wrong = if for_git { Exit::GiveUp } else { Exit::Usage };
            return code_of(if refusal.use_stderr() { wrong } else { Exit::Measured }, typed);
        }
    };
    let command: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let ended = arguments.verb.map_or_else(first_page::show, |verb| start(verb, command));
    match ended {
        Ok(exit) => code_of(exit, typed),
        Err(error) => {
            complain!("tardy: {}", printable(&in_words(&error)));
            if asks_for_json(typed) {
                let _ = json::print(&Document::of(&error));
            }
            code_of(Exit::of_error(&error), typed)
        }
    }
}

/// The refusal with a tip that helps: clap proposes to pass an unknown option as a value, which no verb takes.
fn advised(mut refusal: clap::Error, typed: &[OsString]) -> clap::Error {
    if refusal.kind() != ErrorKind::UnknownArgument {
        return refusal;
    }
    let is_short = |option: &ContextValue| matches!(option, ContextValue::String(text) if !text.starts_with("--"));
    let of_cyclictest =
        typed.get(1).is_some_and(|verb| verb == "run") && refusal.get(ContextKind::InvalidArg).is_some_and(is_short);
    let similar = refusal.get(ContextKind::SuggestedArg).is_some();
    refusal.remove(ContextKind::Suggested);
    if of_cyclictest && !similar {
        let tip = StyledStr::from("`tardy cyclictest` takes all options of cyclictest, and prints what it prints");
        refusal.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    refusal
}

fn start(verb: Verb, command: Vec<String>) -> anyhow::Result<Exit> {
    match verb {
        Verb::Check(arguments) => check::run(&arguments),
        Verb::Run(arguments) => run::run(&arguments, command),
        Verb::Watch(arguments) => watch::run(&arguments, command),
        Verb::Audit(arguments) => audit::run(&arguments, command),
        Verb::Collect(arguments) => collect::run(&arguments),
        Verb::Plan(arguments) => plan::run(&arguments),
        Verb::Explain(arguments) => explain::run(&arguments),
        Verb::Report(arguments) => report::run(&arguments),
        Verb::Export(arguments) => export::run(&arguments),
        Verb::Import(arguments) => import::run(&arguments),
        #[cfg(feature = "lab")]
        Verb::Publish(arguments) => publish::run(&arguments),
        #[cfg(feature = "lab")]
        Verb::Verify(arguments) => verify_publication::run(&arguments),
        #[cfg(feature = "lab")]
        Verb::Serve(arguments) => serve::run(&arguments),
        #[cfg(feature = "lab")]
        Verb::Store(arguments) => store::run(&arguments),
        #[cfg(feature = "lab")]
        Verb::Queue(arguments) => queue::run(&arguments),
        #[cfg(feature = "lab")]
        Verb::Worker(arguments) => worker::run(&arguments),
        Verb::Cyclictest(arguments) => cyclictest::run(&arguments),
        Verb::Observe(arguments) => observe::run(&arguments, command),
        Verb::Judge(arguments) => judge::run(&arguments),
        Verb::Compare(arguments) => compare::run(&arguments, &command),
        Verb::Experiment(arguments) => experiment::run(&arguments, command),
        Verb::History(arguments) => history::run(&arguments),
        Verb::Bisect(arguments) => bisect::run(&arguments, command),
        Verb::Virtual(arguments) => match arguments.verb {
            VirtualVerb::Record(arguments) => record::run(&arguments, &command),
            VirtualVerb::Replay(arguments) => replay::run(&arguments, &command),
            VirtualVerb::Baseline(arguments) => baseline::run(&arguments, &command),
            VirtualVerb::Verify(arguments) => verify::run(&arguments),
        },
        Verb::List(arguments) => list::run(&arguments),
        Verb::Load(arguments) => load::run(&arguments),
        Verb::Methods(arguments) => methods::run(&arguments),
        Verb::Restore(arguments) => restore::run(&arguments),
        Verb::Target(arguments) => target::run(&arguments),
        Verb::Completions(arguments) => completions::run(&arguments),
        Verb::Man(arguments) => man::run(&arguments),
    }
}

/// `tardy watch -- COMMAND` passes on the codes of the command, so it uses other codes for its own errors.
fn code_of(exit: Exit, typed: &[OsString]) -> ExitCode {
    let around_a_command = typed.get(1).is_some_and(|verb| verb == "watch") && typed.iter().any(|word| word == "--");
    if around_a_command { exit.around_a_command() } else { exit.into() }
}

/// Whether standard output holds one JSON document and nothing else; `--` ends the options.
fn asks_for_json(typed: &[OsString]) -> bool {
    typed.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_option_gets_a_tip_that_helps() {
        let shown = |words: &[&str]| {
            let typed: Vec<OsString> = words.iter().map(OsString::from).collect();
            advised(definition().try_get_matches_from(&typed).unwrap_err(), &typed).to_string()
        };
        assert!(shown(&["tardy", "run", "-t5"]).contains("`tardy cyclictest` takes all options"));
        assert!(shown(&["tardy", "run", "--durations", "1s"]).contains("'--duration'"));
        for words in [&["tardy", "run", "-t5"], &["tardy", "list", "-z"]] {
            assert!(!shown(words).contains("as a value"), "{}", shown(words));
        }
    }

    /// The last verbs of a command, each with its line.
    fn leaves(command: &clap::Command, line: &str) -> Vec<(String, bool)> {
        let below = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        let below: Vec<_> = below.flat_map(|verb| leaves(verb, &format!("{line} {}", verb.get_name()))).collect();
        let has_json = command.get_arguments().any(|argument| argument.get_long() == Some("json"));
        if below.is_empty() { vec![(line.to_owned(), has_json)] } else { below }
    }

    #[test]
    fn every_verb_that_ends_with_a_result_has_json() {
        let without: Vec<String> = leaves(&definition(), "tardy")
            .into_iter()
            .filter(|(_, has_json)| !has_json)
            .map(|(line, _)| line)
            .collect();
        // README.md says the same of the first four; the last one prints what cyclictest prints.
        let known = ["completions", "man", "serve", "worker", "cyclictest"];
        let unknown = |line: &&String| !known.contains(&line.trim_start_matches("tardy "));
        assert_eq!(without.iter().filter(unknown).collect::<Vec<_>>(), Vec::<&String>::new());
    }

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }
}
