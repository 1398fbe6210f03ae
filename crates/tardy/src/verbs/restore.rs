//! `tardy target restore`: restores settings that a killed run left changed on a machine.

use crate::exit::{Exit, UsageError};
use crate::measuring::machine::find;
use crate::measuring::signals::Signals;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use clap::Args;
use machines::board::{AccessOptions, Purpose};
use machines::meter_places::MeterPlaces;
use runner::restore::{RestoreError, restore, restore_and_forget};
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// Restore settings that a killed run or `tardy check` changed
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// Target to restore: `local`, or a board added with `tardy target add`
    #[arg(value_name = "NAME", default_value = "local")]
    target: String,
    /// The target, as `tardy target restore` takes it
    #[arg(long = "target", hide = true, conflicts_with = "target")]
    formerly: Option<String>,
    /// On a board: end a run that continues without its host, and delete results that were not fetched
    #[arg(long)]
    discard: bool,
    /// Accept settings that cannot be restored as they are now, and forget what they were
    #[arg(long)]
    forget: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Verb for RestoreArguments {
    const NAME: &'static str = "restore";
    const PLACE: Place = Place::Below(Parent::Target);
    const EXAMPLES: &'static [&'static str] = &["tardy target restore", "tardy target restore board"];
    const FORMER_NAMES: &'static [&'static str] = &["restore"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &RestoreArguments) -> anyhow::Result<Exit> {
    let name = arguments.formerly.as_ref().unwrap_or(&arguments.target);
    let known = find(name)?;
    let meter = MeterPlaces::of_process().find()?;
    let purpose = if arguments.discard { Purpose::Discard } else { Purpose::Restore };
    let access = AccessOptions { purpose, ..AccessOptions::default() };
    let mut target = known.open(&meter, access, Signals::watch()?.requests().clone())?;
    if target.forgets() {
        return Err(UsageError(format!("{name} forgets all changes when it goes down")).into());
    }
    target.prepare()?;
    let restore = if arguments.forget { restore_and_forget } else { restore };
    let restored = restore(target.as_mut(), &meter, LIMIT);
    target.close()?;
    let (lines, complete) = match restored {
        Ok(lines) => (lines, true),
        Err(RestoreError::Incomplete { lines, .. }) => (lines, false),
        Err(error) => return Err(error.into()),
    };
    if arguments.json {
        let document = serde_json::json!({ "restored": complete, "lines": lines });
        json::print(&document)?;
    } else {
        let mut page = Page::for_stdout();
        for line in &lines {
            page.line(line);
        }
        if lines.is_empty() {
            page.wrapped("", "nothing to put back");
        }
        page.print()?;
    }
    if !complete {
        complain!("tardy: not everything could be put back; run `tardy target restore` again as root");
        return Ok(Exit::NotMeasured);
    }
    Ok(Exit::Measured)
}
