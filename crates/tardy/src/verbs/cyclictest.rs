//! `tardy cyclictest`: replaces itself with the meter, which implements cyclictest's command line.

use crate::exit::Exit;
use crate::verb::{Place, Verb};
use anyhow::Context;
use clap::Args;
use machines::meter_places::MeterPlaces;
use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Measure with the options and the output of rt-tests' cyclictest
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub struct CyclictestArguments {
    /// Options of cyclictest; `tardy cyclictest --help` lists them
    #[arg(value_name = "OPTIONS", allow_hyphen_values = true, trailing_var_arg = true)]
    words: Vec<OsString>,
}

impl Verb for CyclictestArguments {
    const NAME: &'static str = "cyclictest";
    const PLACE: Place = Place::Hidden;
    const EXAMPLES: &'static [&'static str] = &["tardy cyclictest -m -Sp90 -i200 -h400 -q"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

/// Returns only if the meter could not be started.
fn run(arguments: &CyclictestArguments) -> anyhow::Result<Exit> {
    let meter = MeterPlaces::of_process().find()?;
    let error = Command::new(&meter).arg("cyclictest").args(&arguments.words).exec();
    Err(error).with_context(|| format!("failed to start {}", meter.display()))
}

#[cfg(test)]
mod tests {
    use crate::command_line::definition;

    #[test]
    fn hands_over_every_word_behind_the_verb() {
        let words = ["-l", "100000", "-m", "-Sp90", "-i200", "-h400", "-q", "--json=f", "--help", "extra"];
        let matches = definition().try_get_matches_from(["tardy", "cyclictest"].iter().chain(&words)).unwrap();
        let parsed = matches.subcommand_matches("cyclictest").and_then(|verb| verb.get_raw("words")).unwrap();
        assert_eq!(parsed.collect::<Vec<_>>(), words);
    }
}
