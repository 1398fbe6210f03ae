//! `tardy man`: manual pages, from the same definitions as the parser.

use crate::exit::Exit;
use crate::terminal::page::write_stdout;
use crate::verb::{Place, Verb};
use anyhow::Context;
use clap::Args;
use std::fs;
use std::path::PathBuf;

/// Print the manual page, or write one for every verb
#[derive(Debug, Args)]
pub struct ManArguments {
    /// Write tardy.1 and a page for every verb here
    #[arg(long, value_name = "DIR")]
    dir: Option<PathBuf>,
}

impl Verb for ManArguments {
    const NAME: &'static str = "man";
    const PLACE: Place = Place::Hidden;
    const EXAMPLES: &'static [&'static str] = &["tardy man", "tardy man --dir man1"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &ManArguments) -> anyhow::Result<Exit> {
    let mut definition = crate::command_line::definition();
    definition.build();
    let Some(directory) = &arguments.dir else {
        let mut page = Vec::new();
        clap_mangen::Man::new(definition).render(&mut page)?;
        write_stdout(&page)?;
        return Ok(Exit::Measured);
    };
    let place = || format!("failed to write manual pages to {}", directory.display());
    fs::create_dir_all(directory).with_context(place)?;
    clap_mangen::generate_to(definition, directory).with_context(place)?;
    Ok(Exit::Measured)
}
