//! `tardy mcp`: the server that coding agents start.

use crate::archives::RUNS;
use crate::exit::Exit;
use crate::mcp::{Context, Directories, serve};
use crate::verb::{Place, Verb};
use clap::Args;
use std::io;
use std::path::{Path, PathBuf};

/// Answer agents by the Model Context Protocol
#[derive(Debug, Args)]
pub struct McpArguments {
    /// Directories of archives and recordings that may be read
    #[arg(value_name = "DIR", default_value = RUNS)]
    directories: Vec<PathBuf>,
    /// Add the tool `measure`: a target and a limit of time each
    #[arg(long)]
    allow_measure: bool,
}

impl Verb for McpArguments {
    const NAME: &'static str = "mcp";
    const PLACE: Place = Place::Hidden;
    const EXAMPLES: &'static [&'static str] = &["tardy mcp", "tardy mcp /srv/archives --allow-measure"];
    const NOTES: &'static str = "\
A client starts it and speaks JSON-RPC on standard input and output; it ends with its input, or at a signal.
Without --allow-measure it measures nothing and changes no file.";

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        let directories = Directories::new(&self.directories, Path::new(RUNS))?;
        serve(Context::new(directories, self.allow_measure), io::stdin(), io::stdout())?;
        Ok(Exit::Measured)
    }
}
