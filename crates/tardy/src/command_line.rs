//! The command line: finds the verb that was typed and runs it. Verbs return how they ended; only this module turns that into
//! an exit code.

#[cfg(test)]
mod documented;
pub mod external;
mod first_page;
mod former;
mod reference;
mod tree;

pub use tree::definition;

use crate::defect;
use crate::exit::{Exit, in_words};
use crate::refusal::{Document, Failure};
use crate::terminal::folded::{help_for_stdout, refusal_for_stderr};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verbs::VERBS;
use anyhow::Context;
use archive::nearest::nearest;
use clap::ArgMatches;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;
use words::printable::printable;

/// Runs the command line of this process.
pub fn main() -> ExitCode {
    defect::print_panics_as_lines();
    #[cfg(feature = "lab")]
    crate::lab::child::end_with_worker();
    let mut typed: Vec<OsString> = std::env::args_os().collect();
    if let Some(former::Renamed { former, now }) = former::rename(&mut typed) {
        complain!("tardy: `tardy {former}` is now `tardy {now}`; the next release does not know the old name");
    }
    defect::unless_defective(|| run(&typed)).unwrap_or_else(|| {
        if asks_for_json(&typed) {
            let _ = json::print(&Document::new(&Failure::Defect));
        }
        Exit::Defect.into()
    })
}

fn run(typed: &[OsString]) -> ExitCode {
    if let Some(page) = reference_page(typed) {
        return code_of(page.print().map_or_else(|error| Exit::of_error(&error.into()), |()| Exit::Measured), typed);
    }
    let ended = match parsed(typed) {
        Ok(Parsed::Verb(matches)) => run_verb(&matches, typed),
        Ok(Parsed::External(name)) => run_external(&name, &typed[2..]),
        Err(refusal) => return refuse(&refusal, typed),
    };
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

/// The reference of a code behind `help`, unless it is a verb.
fn reference_page(typed: &[OsString]) -> Option<Page> {
    let [_, help, code] = typed else { return None };
    let code = code.to_str().filter(|_| help == "help")?;
    definition().find_subcommand(code).is_none().then(|| reference::page_of(code)).flatten()
}

/// An understood command line.
enum Parsed {
    Verb(ArgMatches),
    /// The name of a program on PATH, in the place of a verb.
    External(String),
}

fn parsed(typed: &[OsString]) -> Result<Parsed, clap::Error> {
    match definition().try_get_matches_from(typed) {
        Ok(matches) => Ok(Parsed::Verb(matches)),
        Err(refusal) if is_unknown_verb(&refusal, typed) => match typed.get(1).and_then(|name| name.to_str()) {
            Some(name) if external::program(name).is_some() => Ok(Parsed::External(name.into())),
            _ => Err(with_tip(refusal, typed)),
        },
        Err(refusal) => Err(with_tip(refusal, typed)),
    }
}

/// Whether the first word is the reason of a refusal.
fn is_unknown_verb(refusal: &clap::Error, typed: &[OsString]) -> bool {
    let invalid = refusal.get(ContextKind::InvalidSubcommand);
    let first = typed.get(1).and_then(|word| word.to_str());
    refusal.kind() == ErrorKind::InvalidSubcommand
        && matches!(invalid, Some(ContextValue::String(word)) if Some(word.as_str()) == first)
}

fn run_verb(matches: &ArgMatches, typed: &[OsString]) -> anyhow::Result<Exit> {
    let Some((verb, arguments)) = tree::chosen(matches) else { return first_page::print() };
    (verb.run)(arguments, typed.iter().map(|word| word.to_string_lossy().into_owned()).collect())
}

/// Returns only if the program did not start.
fn run_external(name: &str, arguments: &[OsString]) -> anyhow::Result<Exit> {
    let program = external::program(name).with_context(|| format!("failed to find tardy-{name} again"))?;
    Err(external::exec(&program, arguments)).with_context(|| format!("failed to start {}", program.display()))
}

/// Prints why the command line is refused, or the help or version that it requested.
fn refuse(refusal: &clap::Error, typed: &[OsString]) -> ExitCode {
    if !refusal.use_stderr() {
        let mut output = io::stdout();
        let _ = output.write_all(help_for_stdout(refusal).as_bytes()).and_then(|()| output.flush());
        return code_of(Exit::Measured, typed);
    }
    complain!("{}", refusal_for_stderr(refusal).trim_end());
    if asks_for_json(typed) {
        let _ = json::print(&Document::new(&Failure::CommandLine(refusal.to_string())));
    }
    code_of(Exit::Usage, typed)
}

/// The refusal with a tip that helps: clap proposes to pass an unknown option as a value, which no verb takes, and knows no
/// verbs below others.
fn with_tip(mut refusal: clap::Error, typed: &[OsString]) -> clap::Error {
    let tip = match refusal.kind() {
        ErrorKind::UnknownArgument => {
            let similar = refusal.get(ContextKind::SuggestedArg).is_some();
            refusal.remove(ContextKind::Suggested);
            let option = match refusal.get(ContextKind::InvalidArg) {
                Some(ContextValue::String(option)) if !similar => option.clone(),
                _ => return refusal,
            };
            let of_verb = || tree::named(typed).and_then(|verb| (verb.tip)(&option)).map(str::to_owned);
            before_command(&option, typed).or_else(of_verb)
        }
        ErrorKind::InvalidSubcommand if is_unknown_verb(&refusal, typed) => {
            refusal.remove(ContextKind::SuggestedSubcommand);
            let near = typed.get(1).and_then(|word| nearest_verb(&word.to_string_lossy()));
            Some(near.unwrap_or_else(|| "`tardy list verbs` lists all verbs".into()))
        }
        ErrorKind::InvalidSubcommand if typed.get(1).is_some_and(|word| word == "help") => {
            let near = typed.get(2).and_then(|code| reference::nearest_code(&code.to_string_lossy()));
            Some(near.map_or_else(
                || "`tardy help CODE` explains the code in brackets behind a message".into(),
                |code| format!("did you mean `tardy help {code}`?"),
            ))
        }
        _ => None,
    };
    if let Some(tip) = tip {
        refusal.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(tip)]));
    }
    refusal
}

/// The command line with `--` before the command to start, where a verb takes one and the dashes were forgotten.
fn before_command(word: &str, typed: &[OsString]) -> Option<String> {
    let verb = tree::named(typed)?;
    let definition = definition();
    let starts_commands = definition
        .find_subcommand(verb.name)?
        .get_arguments()
        .any(|option| option.is_last_set() && option.get_id() == "command");
    let at = typed.iter().position(|typed| typed == word).filter(|_| starts_commands && !word.starts_with('-'))?;
    let words: Vec<String> = typed.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let (before, command) = words.split_at(at);
    let all = [&before[1..], &["--".to_owned()], command].concat();
    Some(format!("put `--` before the command: tardy {}", archive::shell::line(&all)))
}

/// The verb that a mistyped word may mean, wherever it stands.
fn nearest_verb(word: &str) -> Option<String> {
    let definition = definition();
    // A hidden verb is below; a hidden family leads to verbs that a user may mean.
    let is_known = |verb: &&clap::Command| !verb.is_hide_set() || verb.is_subcommand_required_set();
    let families = definition.get_subcommands().filter(is_known).map(|verb| verb.get_name());
    let known = families.chain(VERBS.iter().map(|verb| verb.name));
    let near = nearest(word, known.chain(VERBS.iter().flat_map(|verb| verb.former_names.iter().copied())))?;
    let verb = VERBS.iter().find(|verb| verb.name == near || verb.former_names.contains(&near));
    Some(format!("did you mean `tardy {}`?", verb.map_or_else(|| near.to_owned(), |verb| verb.path())))
}

fn code_of(exit: Exit, typed: &[OsString]) -> ExitCode {
    tree::named(typed).map_or_else(|| exit.into(), |verb| (verb.exit_code)(exit, typed))
}

/// Whether standard output holds one JSON document and nothing else; `--` ends the options.
fn asks_for_json(typed: &[OsString]) -> bool {
    typed.iter().take_while(|word| *word != "--").any(|word| word == "--json")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(words: &[&str]) -> String {
        let typed: Vec<OsString> = words.iter().map(OsString::from).collect();
        with_tip(definition().try_get_matches_from(&typed).unwrap_err(), &typed).to_string()
    }

    #[test]
    fn an_unknown_option_gets_a_tip_that_helps() {
        assert!(refused(&["tardy", "run", "-t5"]).contains("`tardy cyclictest`"));
        assert!(refused(&["tardy", "run", "--durations", "1s"]).contains("'--duration'"));
        assert!(refused(&["tardy", "watch", "sleep", "1"]).contains("tardy watch -- sleep 1"));
        assert!(refused(&["tardy", "audit", "--json", "./loop"]).contains("tardy audit --json -- ./loop"));
        for words in [&["tardy", "run", "-t5"], &["tardy", "list", "-z"]] {
            assert!(!refused(words).contains("as a value"), "{}", refused(words));
        }
    }

    #[test]
    fn an_unknown_verb_gets_the_nearest_one_wherever_it_stands() {
        for (word, near) in [
            ("wach", "`tardy watch`"),
            ("replay", "`tardy virtual replay`"),
            ("stoer", "`tardy lab store`"),
            ("colect", "`tardy target collect`"),
            ("virtal", "`tardy virtual`"),
            ("zzzzzz", "`tardy list verbs`"),
        ] {
            assert!(refused(&["tardy", word]).contains(near), "{}", refused(&["tardy", word]));
        }
    }

    #[test]
    fn an_unknown_code_gets_the_nearest_one() {
        assert!(refused(&["tardy", "help", "archive.cut-of"]).contains("`tardy help archive.cut-off`"));
        assert!(refused(&["tardy", "help", "zzzzzz"]).contains("`tardy help CODE`"));
    }

    #[test]
    fn a_value_that_an_option_does_not_take_is_refused_in_words() {
        let raw = |line: &str, option: &str| {
            let typed: Vec<&str> = line.split(' ').chain([option, "abc"]).collect();
            let refusal = definition().try_get_matches_from(typed).err()?.to_string();
            ["invalid digit", "invalid float", "invalid socket", "out of range", "cannot parse"]
                .into_iter()
                .find(|words| refusal.contains(words))
                .map(|words| format!("{line} {option}: {words}"))
        };
        let options = |verb: &clap::Command| -> Vec<String> {
            verb.get_arguments().filter_map(|option| option.get_long().map(|long| format!("--{long}"))).collect()
        };
        let found: Vec<String> = verbs()
            .iter()
            .flat_map(|(line, verb)| options(verb).into_iter().filter_map(move |option| raw(line, &option)))
            .collect();
        assert_eq!(found, Vec::<String>::new());
    }

    /// The last verbs of a command, each with its line.
    fn leaves(command: &clap::Command, line: &str) -> Vec<(String, clap::Command)> {
        let below = command.get_subcommands().filter(|verb| verb.get_name() != "help");
        let below: Vec<_> = below.flat_map(|verb| leaves(verb, &format!("{line} {}", verb.get_name()))).collect();
        let own = (!command.is_subcommand_required_set()).then(|| (line.to_owned(), command.clone()));
        own.into_iter().chain(below).collect()
    }

    fn verbs() -> Vec<(String, clap::Command)> {
        definition().get_subcommands().flat_map(|verb| leaves(verb, &format!("tardy {}", verb.get_name()))).collect()
    }

    #[test]
    fn every_verb_that_ends_with_a_result_has_json() {
        let has_json = |verb: &clap::Command| verb.get_arguments().any(|option| option.get_long() == Some("json"));
        let without = verbs().into_iter().filter(|(_, verb)| !has_json(verb)).map(|(line, _)| line);
        // README.md says the same of all but the last one, which prints what cyclictest prints.
        let known = ["completions", "man", "guard", "top", "desk", "lab serve", "lab worker", "mcp", "cyclictest"];
        let unknown = without.filter(|line| !known.contains(&line.trim_start_matches("tardy ")));
        assert_eq!(unknown.collect::<Vec<_>>(), Vec::<String>::new());
    }

    #[test]
    fn the_help_of_every_verb_has_an_example_of_it() {
        let has_example = |line: &str, verb: &clap::Command| {
            let help = verb.get_after_help().map(ToString::to_string).unwrap_or_default();
            help.lines().any(|example| example.contains(line))
        };
        let without = verbs().into_iter().filter(|(line, verb)| !has_example(line, verb));
        assert_eq!(without.map(|(line, _)| line).collect::<Vec<_>>(), Vec::<String>::new());
    }

    #[test]
    fn the_definition_is_consistent() {
        definition().debug_assert();
    }
}
