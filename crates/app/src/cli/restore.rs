//! `tardy restore`: puts back what a killed run left changed on this machine.

use super::exit::Exit;
use crate::text::page::{Page, write_stdout};
use clap::Args;
use runner::meter::MeterPlaces;
use runner::restore::{RestoreError, restore};
use runner::target::local::LocalTarget;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// Put back the kernel settings that a killed run left changed
#[derive(Debug, Args)]
pub struct RestoreArguments {
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

pub fn run(arguments: &RestoreArguments) -> anyhow::Result<Exit> {
    let meter = MeterPlaces::of_process().find()?;
    let (lines, complete) = match restore(&mut LocalTarget, &meter, LIMIT) {
        Ok(lines) => (lines, true),
        Err(RestoreError::Incomplete { lines, .. }) => (lines, false),
        Err(error) => return Err(error.into()),
    };
    if arguments.json {
        let document = serde_json::json!({ "restored": complete, "lines": lines });
        write_stdout(format!("{document}\n").as_bytes())?;
    } else {
        let mut page = Page::for_stdout();
        for line in &lines {
            page.line(line);
        }
        if lines.is_empty() {
            page.line("nothing to put back");
        }
        page.print()?;
    }
    if !complete {
        eprintln!("tardy: not everything could be put back; run `tardy restore` again as root");
        return Ok(Exit::NotMeasured);
    }
    Ok(Exit::Measured)
}
