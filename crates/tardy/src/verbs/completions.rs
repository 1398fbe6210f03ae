//! `tardy completions`: completions for a shell, from the same definitions as the parser.

use crate::exit::Exit;
use crate::terminal::page::write_stdout;
use crate::verb::{Place, Verb};
use clap::Args;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell to complete in
    shell: Shell,
}

impl Verb for CompletionsArguments {
    const NAME: &'static str = "completions";
    const PLACE: Place = Place::Hidden;
    const EXAMPLES: &'static [&'static str] = &["tardy completions bash > /etc/bash_completion.d/tardy"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &CompletionsArguments) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command_line::definition(), "tardy", &mut script);
    write_stdout(&script)?;
    Ok(Exit::Measured)
}
