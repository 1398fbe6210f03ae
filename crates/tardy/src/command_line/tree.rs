//! The definition of the whole command line, made from the list of verbs.

use crate::terminal::page::Page;
use crate::terminal::screen;
use crate::verb::{Entry, Group, Parent, Place};
use crate::verbs::VERBS;
use clap::{ArgMatches, Command};
use std::ffi::OsString;

/// More columns than any sentence about a verb has.
const COLUMNS_UNLIMITED: usize = 1000;

const AFTER_HELP: &str = "\
`tardy VERB --help` describes a verb, `tardy list verbs` lists all of them.
Exit codes: 0 measured, 1 limit exceeded, 2 wrong usage, 3 could not measure or the numbers are invalid, 4 not enough data, 70 a defect of tardy.";

/// The definition for parsing, completions and manual pages.
pub fn definition() -> Command {
    let tardy = Command::new("tardy")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Find out how late Linux wakes your task, and why")
        .max_term_width(100)
        .subcommand_value_name("VERB")
        .after_help(AFTER_HELP);
    let tardy = tardy.subcommands(top_level());
    let groups = grouped(&tardy, screen::width().unwrap_or(COLUMNS_UNLIMITED));
    tardy.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{}{{after-help}}",
        groups.trim_end()
    ))
}

fn top_level() -> Vec<Command> {
    let mut verbs: Vec<Command> = VERBS
        .iter()
        .filter_map(|verb| match verb.place {
            Place::Listed(group) => Some(documented(verb, group.notes())),
            Place::Hidden => Some(documented(verb, "").hide(true)),
            Place::Below(_) => None,
        })
        .collect();
    for parent in Parent::ALL {
        let below: Vec<&Entry> = VERBS.iter().filter(|verb| verb.place == Place::Below(parent)).collect();
        match parent.family() {
            Some((group, about)) => verbs.push(family(parent, about, &below).hide(group.is_none())),
            None => {
                let own = verbs.iter_mut().find(|verb| verb.get_name() == parent.name());
                let own = own.expect("a parent without a family is a verb");
                *own = beside(own.clone(), &below);
            }
        }
    }
    verbs
}

/// A parent that only leads to the verbs below it.
fn family(parent: Parent, about: &'static str, below: &[&Entry]) -> Command {
    let first = below.iter().filter_map(|verb| verb.examples.first().copied());
    Command::new(parent.name())
        .about(about)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .after_help(help_of(first, &[]))
        .subcommands(below.iter().map(|verb| documented(verb, "")))
}

/// A verb that does something itself, with others below it.
fn beside(own: Command, below: &[&Entry]) -> Command {
    let has_arguments = !own.is_subcommand_required_set();
    own.args_conflicts_with_subcommands(has_arguments)
        .disable_help_subcommand(has_arguments)
        .subcommands(below.iter().map(|verb| documented(verb, "")))
}

/// The definition of a verb with its examples.
fn documented(verb: &Entry, notes_of_group: &str) -> Command {
    let help = help_of(verb.examples.iter().copied(), &[verb.notes, notes_of_group]);
    with_examples((verb.define)(), &verb.path(), verb.examples).after_help(help)
}

/// The definition, in which each verb below this one shows the examples that begin with its words.
fn with_examples(command: Command, path: &str, examples: &[&str]) -> Command {
    let names: Vec<String> = command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    names.into_iter().fold(command, |command, name| {
        let path = format!("{path} {name}");
        let start = format!("tardy {path} ");
        let own = examples.iter().copied().filter(|line| format!("{line} ").starts_with(&start));
        let help = help_of(own, &[]);
        command.mut_subcommand(&name, |verb| with_examples(verb, &path, examples).after_help(help))
    })
}

/// The end of a help: examples, and paragraphs.
fn help_of<'a>(examples: impl Iterator<Item = &'a str>, paragraphs: &[&str]) -> String {
    let examples: String = examples.map(|line| format!("\n  {line}")).collect();
    let examples = if examples.is_empty() { String::new() } else { format!("Examples:{examples}") };
    let all: Vec<&str> =
        std::iter::once(examples.as_str()).chain(paragraphs.iter().copied()).filter(|text| !text.is_empty()).collect();
    all.join("\n\n")
}

/// The verbs of each group, with the title of the group before the first of them.
fn grouped(tardy: &Command, columns: usize) -> String {
    let verbs: Vec<(Group, &Command)> =
        tardy.get_subcommands().filter_map(|verb| Some((group_of(verb)?, verb))).collect();
    let widest = |lengths: &mut dyn Iterator<Item = usize>| lengths.max().unwrap_or(0);
    let titles = widest(&mut Group::ALL.iter().map(|group| group.title().len()));
    let names = widest(&mut verbs.iter().map(|(_, verb)| verb.get_name().len()));
    let mut page = Page::new(false).with_columns(columns);
    for group in Group::ALL {
        let of_group = verbs.iter().filter(|(other, _)| *other == group);
        for (at, (_, verb)) in of_group.enumerate() {
            let title = if at == 0 { group.title() } else { "" };
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            page.wrapped(&format!("{title:titles$}  {:names$}  ", verb.get_name()), &about);
        }
    }
    page.text().to_owned()
}

fn group_of(verb: &Command) -> Option<Group> {
    let family = Parent::ALL.into_iter().find(|parent| parent.name() == verb.get_name()).and_then(Parent::family);
    let listed = VERBS.iter().find_map(|entry| match entry.place {
        Place::Listed(group) if entry.name == verb.get_name() => Some(group),
        _ => None,
    });
    family.and_then(|(group, _)| group).or(listed)
}

/// The verb that a command line chose, with its arguments.
pub fn chosen(matches: &ArgMatches) -> Option<(&'static Entry, &ArgMatches)> {
    let (name, arguments) = matches.subcommand()?;
    let below = arguments.subcommand().and_then(|(below, arguments)| Some((entry(&[name, below])?, arguments)));
    below.or_else(|| Some((entry(&[name])?, arguments)))
}

/// The verb that the words name, even if the rest of them is wrong.
pub fn named(words: &[OsString]) -> Option<&'static Entry> {
    let words: Vec<&str> = words.iter().skip(1).take(2).map_while(|word| word.to_str()).collect();
    entry(&words).or_else(|| entry(words.get(..1)?))
}

fn entry(path: &[&str]) -> Option<&'static Entry> {
    VERBS.iter().find(|verb| match (verb.place, path) {
        (Place::Listed(_) | Place::Hidden, [name]) => verb.name == *name,
        (Place::Below(parent), [above, name]) => parent.name() == *above && verb.name == *name,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal::folded::folded;

    /// Sentences of verbs fit a terminal of 80 columns beside the groups and names.
    const ABOUT_MAX: usize = 80 - 10 - 2 - 10 - 2;

    fn listed() -> Vec<Command> {
        definition().get_subcommands().filter(|verb| !verb.is_hide_set()).cloned().collect()
    }

    #[test]
    fn the_front_door_has_at_most_16_verbs() {
        let names: Vec<String> = listed().iter().map(|verb| verb.get_name().to_owned()).collect();
        assert!(names.len() <= 16, "{names:?}");
        let in_groups = listed().iter().filter(|verb| group_of(verb).is_some()).count();
        assert_eq!(in_groups, names.len(), "{names:?}");
    }

    #[test]
    fn every_listed_verb_has_one_sentence_that_fits() {
        for verb in listed() {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            assert!(!about.is_empty() && about.chars().count() <= ABOUT_MAX, "{}: {about}", verb.get_name());
        }
    }

    #[test]
    fn the_help_fits_a_screen() {
        let help = folded(&definition().term_width(80).render_help().to_string(), 80);
        assert!(help.lines().count() <= 24, "{} lines:\n{help}", help.lines().count());
        assert!(help.lines().all(|line| line.chars().count() <= 80), "{help}");
        for group in Group::ALL {
            assert!(help.contains(&format!("\n{}", group.title())), "{help}");
        }
    }

    #[test]
    fn the_verbs_fit_narrow_terminals() {
        let text = grouped(&definition(), 50);
        assert!(text.lines().all(|line| line.chars().count() <= 50), "{text}");
        assert!(text.contains("\nUnderstand  explain"), "{text}");
    }

    #[test]
    fn each_verb_is_found_by_the_words_that_choose_it() {
        for verb in VERBS {
            let path = verb.path();
            let words: Vec<OsString> = ["tardy"].into_iter().chain(path.split(' ')).map(OsString::from).collect();
            assert!(named(&words).is_some_and(|found| found.path() == path), "{path}");
        }
        let matches = definition().try_get_matches_from(["tardy", "list", "verbs"]).unwrap();
        assert_eq!(chosen(&matches).unwrap().0.path(), "list verbs");
        let matches = definition().try_get_matches_from(["tardy", "list", "nightly"]).unwrap();
        assert_eq!(chosen(&matches).unwrap().0.path(), "list");
    }

    #[test]
    fn verbs_below_others_show_the_examples_of_their_own() {
        let definition = definition();
        let store = definition.find_subcommand("lab").and_then(|lab| lab.find_subcommand("store")).unwrap();
        let list = store.find_subcommand("list").unwrap().get_after_help().unwrap().to_string();
        assert_eq!(list, "Examples:\n  tardy lab store list");
    }
}
