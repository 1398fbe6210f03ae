//! Pages of explanations: the account of a spike, the common causes of a run's spikes, and the JSON document.

pub mod account;
pub mod causes;
mod document;
mod functions;
#[cfg(test)]
mod gallery;
mod own_code;
pub mod timeline;

use super::json;
use super::page::Page;
use crate::exit::Exit;
use crate::terminal::clock_alarm::alarm_of_clock;
use ::account::Account;
use archive::reader::Run;
use archive::spike::Spike;
use timeline::Canvas;
use words::shell::quoted;

/// Prints every spike of a run as one JSON document.
pub fn print_document(account: &Account) -> anyhow::Result<Exit> {
    json::print(&document::of(account))?;
    Ok(Exit::Measured)
}

/// The spikes of a run in virtual time that have just been recorded.
pub fn show_recorded(recorded: &Account, json: bool, quiet: bool) -> anyhow::Result<Exit> {
    if json {
        return print_document(recorded);
    }
    let run = recorded.run();
    let mut page = Page::for_stdout();
    if quiet {
        page.line(&run.directory.display().to_string());
        page.print()?;
        return Ok(Exit::Measured);
    }
    alarm(run, &mut page);
    let late = run.late_spikes();
    let mut spikes: Vec<&Spike> = late.filter(|spike| run.recordings.contains_key(&spike.number)).collect();
    let canvas = Canvas::for_stdout(false);
    spikes.sort_by_key(|spike| (std::cmp::Reverse(spike.sample.latency_ns), spike.number));
    for (at, spike) in spikes.iter().enumerate() {
        if at > 0 {
            page.blank();
        }
        account::lay_out(spike, recorded, canvas, &mut page);
    }
    page.blank();
    let path = quoted(&run.directory.display().to_string());
    page.wrapped("", &format!("They are in the archive from now on: tardy explain {path}, tardy report {path}."));
    page.print()?;
    Ok(Exit::Measured)
}

/// Lines above the figures of a run.
pub fn alarm(run: &Run, page: &mut Page) {
    if let Some(manifest) = &run.manifest {
        alarm_of_clock(manifest.virtual_time, manifest.emulated, page);
    }
}
