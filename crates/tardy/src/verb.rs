//! The declaration of a verb: everything that `tardy` knows about it stands in the file that implements this trait.

use crate::exit::Exit;
use clap::{ArgMatches, Args, Command};
use std::ffi::OsString;
use std::process::ExitCode;

/// A verb; its arguments implement it.
pub trait Verb: Args {
    /// Its last word on the command line.
    const NAME: &'static str;
    const PLACE: Place;
    /// Commands to start with, in the help of the verb; each verb below it shows those that begin with its own words.
    const EXAMPLES: &'static [&'static str];
    /// End of the help: what the options do not say.
    const NOTES: &'static str = "";
    /// Words behind `tardy` that meant this verb in an earlier release, and still do.
    const FORMER_NAMES: &'static [&'static str] = &[];

    /// Runs the verb; `typed` is the command line.
    ///
    /// # Errors
    /// If it could not do what was requested.
    fn run(&self, typed: Vec<String>) -> anyhow::Result<Exit>;

    /// The derived definition, with the help of shared options in the words of this verb.
    fn defined(derived: Command) -> Command {
        derived
    }

    /// The exit code of the process; `words` is the command line.
    fn exit_code(exit: Exit, _words: &[OsString]) -> ExitCode {
        exit.into()
    }

    /// Advice for an option that the verb does not have.
    fn tip(_option: &str) -> Option<&'static str> {
        None
    }
}

/// Where a verb stands on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// `tardy NAME`, in a group of `tardy --help`.
    Listed(Group),
    /// `tardy NAME`, which no help lists.
    Hidden,
    /// `tardy PARENT NAME`.
    Below(Parent),
}

/// Related verbs of `tardy --help`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Group {
    Measure,
    Understand,
    Prove,
    Machines,
    Exchange,
}

impl Group {
    /// In the order of the help.
    pub const ALL: [Self; 5] = [Self::Measure, Self::Understand, Self::Prove, Self::Machines, Self::Exchange];

    pub const fn title(self) -> &'static str {
        match self {
            Self::Measure => "Measure",
            Self::Understand => "Understand",
            Self::Prove => "Prove",
            Self::Machines => "Machines",
            Self::Exchange => "Exchange",
        }
    }

    /// End of the help of each of its verbs: which of them answers which question.
    pub const fn notes(self) -> &'static str {
        match self {
            Self::Prove => {
                "\
Which one?
  judge       one run: does it show that a limit holds?
  compare     two runs that exist: what differs between them?
  experiment  two variants, measured alternately: is B worse than A?
  lab history a series of runs: when did their figures change?"
            }
            Self::Measure | Self::Understand | Self::Machines | Self::Exchange => "",
        }
    }
}

/// A word with verbs below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parent {
    Experiment,
    Lab,
    List,
    Target,
    Virtual,
}

impl Parent {
    pub const ALL: [Self; 5] = [Self::Experiment, Self::Lab, Self::List, Self::Target, Self::Virtual];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Experiment => "experiment",
            Self::Lab => "lab",
            Self::List => "list",
            Self::Target => "target",
            Self::Virtual => "virtual",
        }
    }

    /// Group and sentence of a parent that is not a verb itself. No help lists one without a group; `tardy list verbs` does.
    pub const fn family(self) -> Option<(Option<Group>, &'static str)> {
        match self {
            Self::Lab => Some((Some(Group::Machines), "Plan, queue, index, serve and publish the runs of boards")),
            Self::Virtual => Some((None, "Record and replay runs in virtual time; keep baselines")),
            Self::Experiment | Self::List | Self::Target => None,
        }
    }
}

/// A verb as a value, for the list of all verbs.
#[derive(Debug)]
pub struct Entry {
    pub name: &'static str,
    pub place: Place,
    pub examples: &'static [&'static str],
    pub notes: &'static str,
    pub former_names: &'static [&'static str],
    pub define: fn() -> Command,
    pub run: fn(&ArgMatches, Vec<String>) -> anyhow::Result<Exit>,
    pub exit_code: fn(Exit, &[OsString]) -> ExitCode,
    pub tip: fn(&str) -> Option<&'static str>,
}

impl Entry {
    pub const fn of<V: Verb>() -> Self {
        Self {
            name: V::NAME,
            place: V::PLACE,
            examples: V::EXAMPLES,
            notes: V::NOTES,
            former_names: V::FORMER_NAMES,
            define: || V::defined(V::augment_args(Command::new(V::NAME))),
            run: |matches, typed| V::from_arg_matches(matches)?.run(typed),
            exit_code: V::exit_code,
            tip: V::tip,
        }
    }

    /// The words behind `tardy`.
    pub fn path(&self) -> String {
        match self.place {
            Place::Listed(_) | Place::Hidden => self.name.into(),
            Place::Below(parent) => format!("{} {}", parent.name(), self.name),
        }
    }
}
