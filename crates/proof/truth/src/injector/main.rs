//! Delays a CPU on purpose until it is ended, and logs when. For tests only.
//!
//! `tardy-injector NAME --log FILE [--cpu N] [--length-us N] [--pause-us N] [--seed N] [--seconds N]
//! [--module FILE] [--kind WORD] [--threads N] [--period-us N] [--parts LIST]`. It may also be called as a shell, `sh -c 'tardy-injector NAME ...'`: machines without a shell start commands so.

mod boost;
mod bpf;
mod budget;
mod cadence;
mod channel;
mod control_group;
mod disturbance;
mod freeze;
mod fsync;
mod gaps;
mod insmod;
mod inversion;
mod kernel;
mod lowered;
mod many_timers;
mod masked;
mod measured;
mod mix;
mod moved;
mod multicast;
mod overrun;
mod page_faults;
mod performance;
mod pipeline;
mod poll;
mod rt_task;
mod samples;
mod sections;

mod starve;
mod steps;
mod stolen;
mod stop;
mod switches;
mod terms;

use disturbance::{SetUp, repeat};
use mix::Part;
use std::fmt;
use std::io;
use std::process::ExitCode;
use terms::{Terms, TermsError};

#[derive(Clone, Copy)]
enum Injector {
    /// Injects once when it is asked to, so that it goes into a mix.
    Once(SetUp),
    /// Injects on its own, until it is ended.
    Always(fn(Terms) -> io::Result<()>),
}

use Injector::{Always, Once};
use SetUp::{Beside, InLoop};

const INJECTORS: &[(&str, Injector)] = &[
    ("boost", Once(Beside(boost::set_up))),
    ("budget", Once(Beside(budget::set_up))),
    ("freeze", Once(Beside(freeze::set_up))),
    ("fsync", Once(InLoop(fsync::set_up))),
    ("gaps", Always(gaps::inject)),
    ("insmod", Always(insmod::inject)),
    ("inversion", Once(InLoop(inversion::set_up))),
    ("lowered", Once(Beside(lowered::set_up))),
    ("many-timers", Once(Beside(many_timers::set_up))),
    ("masked", Once(Beside(masked::set_up))),
    ("mix", Always(inject_mix)),
    ("moved", Once(Beside(moved::set_up))),
    ("multicast", Once(Beside(multicast::set_up))),
    ("overrun", Once(InLoop(overrun::set_up))),
    ("page-faults", Once(InLoop(page_faults::set_up))),
    ("pipeline", Once(InLoop(pipeline::set_up))),
    ("poll", Once(Beside(poll::set_up))),
    ("rt-task", Once(Beside(rt_task::set_up))),
    ("samples", Once(Beside(samples::set_up))),
    ("sections", Always(sections::inject)),
    ("starve", Always(starve::inject)),
    ("stolen", Always(stolen::inject)),
    ("stop", Once(Beside(stop::set_up))),
];

fn inject_mix(terms: Terms) -> io::Result<()> {
    let parts = terms.parts.iter().map(|text| part(&terms, text)).collect::<io::Result<Vec<_>>>()?;
    mix::inject(terms, parts)
}

/// Reads `NAME:INJECTOR:KIND:THREADS:LENGTH_US`.
fn part(terms: &Terms, text: &str) -> io::Result<Part> {
    let wrong = || io::Error::other(format!("`{text}` is not a part of a mix"));
    let [name, injector, kind, threads, length_us] = text.split(':').collect::<Vec<_>>()[..] else {
        return Err(wrong());
    };
    let found = INJECTORS.iter().find(|(known, _)| *known == injector);
    let Some((_, Once(set_up))) = found else { return Err(wrong()) };
    let (threads, length_us) = (threads.parse().map_err(|_| wrong())?, length_us.parse().map_err(|_| wrong())?);
    Ok(Part { name: name.into(), set_up: *set_up, terms: terms.of_part(kind, threads, length_us) })
}

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
    let (name, injector) = found.ok_or_else(|| InjectorError::Unknown(name.to_owned()))?;
    let terms = Terms::parse(&words[1..]).map_err(InjectorError::Terms)?;
    let ended = match *injector {
        Once(set_up) => repeat(terms, set_up),
        Always(inject) => inject(terms),
    };
    ended.map_err(|source| InjectorError::Failed { name, source })
}
