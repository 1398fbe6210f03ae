//! Makes a CPU late on purpose, again and again until it is ended, and writes down when. For tests only.
//!
//! `tardy-injector NAME --log FILE [--cpu N] [--length-us N] [--pause-us N] [--seed N] [--seconds N]
//! [--module FILE] [--kind WORD] [--period-us N]`. It may also be called as a shell, `sh -c 'tardy-injector NAME ...'`: machines without a shell start commands so.

mod gaps;
mod insmod;
mod inversion;
mod kernel;
mod many_timers;
mod multicast;
mod page_faults;
mod poll;
mod rt_task;
mod sections;
mod starve;
mod steps;
mod stop;
mod switches;
mod terms;

use std::fmt;
use std::io;
use std::process::ExitCode;
use terms::{Terms, TermsError};

type Injector = fn(Terms) -> io::Result<()>;

const INJECTORS: &[(&str, Injector)] = &[
    ("gaps", gaps::inject),
    ("insmod", insmod::inject),
    ("inversion", inversion::inject),
    ("many-timers", many_timers::inject),
    ("multicast", multicast::inject),
    ("page-faults", page_faults::inject),
    ("poll", poll::inject),
    ("rt-task", rt_task::inject),
    ("sections", sections::inject),
    ("starve", starve::inject),
    ("stop", stop::inject),
];

fn main() -> ExitCode {
    match run(&words()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("tardy-injector: {why}");
            ExitCode::FAILURE
        }
    }
}

/// The words of the command, wherever they are.
fn words() -> Vec<String> {
    let mut words: Vec<String> = std::env::args().skip(1).collect();
    if words.first().is_some_and(|word| word == "-c") {
        words = words
            .get(1)
            .map(|line| line.split_whitespace().skip_while(|word| *word == "exec").skip(1).map(str::to_owned).collect())
            .unwrap_or_default();
    }
    words
}

/// Why nothing is injected.
enum InjectorError {
    Unknown(String),
    Terms(TermsError),
    Failed { name: &'static str, source: io::Error },
}

impl fmt::Display for InjectorError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown(name) => {
                let known: Vec<&str> = INJECTORS.iter().map(|(name, _)| *name).collect();
                write!(out, "there is no injector `{name}`; there are {}", known.join(", "))
            }
            Self::Terms(error) => error.fmt(out),
            Self::Failed { name, source } => write!(out, "{name}: {source}"),
        }
    }
}

fn run(words: &[String]) -> Result<(), InjectorError> {
    let name = words.first().map_or("", String::as_str);
    let found = INJECTORS.iter().find(|(known, _)| *known == name);
    let (name, inject) = found.ok_or_else(|| InjectorError::Unknown(name.to_owned()))?;
    let terms = Terms::parse(&words[1..]).map_err(InjectorError::Terms)?;
    inject(terms).map_err(|source| InjectorError::Failed { name, source })
}
