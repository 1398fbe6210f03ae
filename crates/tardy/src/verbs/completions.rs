//! `tardy completions`: completions for a shell, from the same definitions as the parser.

use crate::exit::Exit;
use crate::terminal::page::write_stdout;
use clap::Args;
use clap_complete::Shell;

/// Print completions for a shell
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell to complete in
    shell: Shell,
}

pub fn run(arguments: &CompletionsArguments) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut crate::command_line::definition(), "tardy", &mut script);
    write_stdout(&script)?;
    Ok(Exit::Measured)
}
