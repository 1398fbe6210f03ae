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

use std::io;
use std::process::ExitCode;
use terms::Terms;

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

fn run(words: &[String]) -> Result<(), String> {
    let name = words.first().map_or("", String::as_str);
    let known = || INJECTORS.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let (_, inject) = INJECTORS
        .iter()
        .find(|(known, _)| *known == name)
        .ok_or_else(|| format!("there is no injector `{name}`; there are {}", known()))?;
    let terms = Terms::parse(&words[1..])?;
    inject(terms).map_err(|error| format!("{name}: {error}"))
}
