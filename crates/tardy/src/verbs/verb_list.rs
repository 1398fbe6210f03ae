//! `tardy list verbs`: every verb, and the programs on PATH that add some.

use crate::command_line::{definition, external};
use crate::exit::Exit;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use clap::{Args, Command};
use serde::Serialize;
use std::path::PathBuf;

/// List every verb, and the programs tardy-NAME on PATH, which are verbs as well
#[derive(Debug, Args)]
pub struct VerbListArguments {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Document {
    verbs: Vec<Listed>,
    external: Vec<External>,
}

#[derive(Debug, Serialize)]
struct Listed {
    /// As it is typed behind `tardy`.
    name: String,
    about: String,
}

#[derive(Debug, Serialize)]
struct External {
    name: String,
    program: PathBuf,
}

impl Verb for VerbListArguments {
    const NAME: &'static str = "verbs";
    const PLACE: Place = Place::Below(Parent::List);
    const EXAMPLES: &'static [&'static str] = &["tardy list verbs"];
    const NOTES: &'static str = "`tardy NAME` runs the program tardy-NAME on PATH if tardy has no verb of that name.";

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        let mut verbs = Vec::new();
        add(&definition(), "", &mut verbs);
        let external = external::all().into_iter().map(|(name, program)| External { name, program }).collect();
        let document = Document { verbs, external };
        if self.json {
            json::print(&document)?;
        } else {
            lay_out(&document, Page::for_stdout()).print()?;
        }
        Ok(Exit::Measured)
    }
}

/// Adds every verb below the command that does something by itself.
fn add(command: &Command, path: &str, verbs: &mut Vec<Listed>) {
    for verb in command.get_subcommands().filter(|verb| verb.get_name() != "help") {
        let name = format!("{path}{}", verb.get_name());
        if !verb.is_subcommand_required_set() {
            let about = verb.get_about().map(ToString::to_string).unwrap_or_default();
            verbs.push(Listed { name: name.clone(), about });
        }
        add(verb, &format!("{name} "), verbs);
    }
}

fn lay_out(document: &Document, mut page: Page) -> Page {
    let verb = |verb: &Listed| (format!("  {}", verb.name), verb.about.clone());
    page.heading("Verbs");
    page.entries(&document.verbs.iter().map(verb).collect::<Vec<_>>());
    page.blank();
    page.heading("Programs on PATH");
    if document.external.is_empty() {
        page.wrapped("  ", "none; a program tardy-NAME would be `tardy NAME`");
    }
    let program = |verb: &External| (format!("  {}", verb.name), verb.program.display().to_string());
    page.entries(&document.external.iter().map(program).collect::<Vec<_>>());
    page
}
