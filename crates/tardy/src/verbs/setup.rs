//! `tardy setup`: lets one user measure on this machine without a root shell, reversibly.

mod layout;
mod user;

use crate::exit::Exit;
use crate::measuring::machine;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Place, Verb};
use anyhow::bail;
use archive::manifest::LOCAL;
use archive::setup::{SetupReport, SetupRequest};
use clap::Args;
use machines::Target;
use machines::meter_places::MeterPlaces;
use runner::facts::set_up;
use runner::restore::{RestoreError, restore_setup};
use rustix::process::geteuid;
use std::path::Path;
use std::time::Duration;

const LIMIT: Duration = Duration::from_secs(120);

/// Let one user measure and trace without a root shell
#[derive(Debug, Args)]
pub struct SetupArguments {
    /// The user [default: the one who runs tardy, also through sudo]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Also let the meter record stacks of the kernel (cap_perfmon)
    #[arg(long)]
    stacks: bool,
    /// Make the changes; needs root
    #[arg(long)]
    apply: bool,
    /// Show the changes and make none, as without options
    #[arg(long, conflicts_with_all = ["apply", "undo"])]
    dry_run: bool,
    /// Revert every change; needs root
    #[arg(long, conflicts_with_all = ["apply", "user", "stacks"])]
    undo: bool,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Verb for SetupArguments {
    const NAME: &'static str = "setup";
    const PLACE: Place = Place::Hidden;
    const EXAMPLES: &'static [&'static str] =
        &["tardy setup", "sudo tardy setup --apply", "sudo tardy setup --apply --user ann", "sudo tardy setup --undo"];
    const NOTES: &'static str = "Only members of the group tardy get access, and the user is the only member.";

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        if (self.apply || self.undo) && !geteuid().is_root() {
            let option = if self.apply { "--apply" } else { "--undo" };
            bail!("a setup changes the machine: run `sudo tardy setup {option}`");
        }
        let meter = MeterPlaces::of_process().find()?;
        if self.undo { undo(&meter, self.json) } else { set_up_user(self, &meter) }
    }
}

fn set_up_user(arguments: &SetupArguments, meter: &Path) -> anyhow::Result<Exit> {
    let user = user::named_or_own(arguments.user.as_deref())?;
    let request = SetupRequest { uid: user.uid, user: user.name, stacks: arguments.stacks, apply: arguments.apply };
    let report = on_this_machine(meter, |target| Ok(set_up(target, meter, &request, LIMIT)?))?;
    show(&report, arguments)?;
    Ok(Exit::Measured)
}

fn show(report: &SetupReport, arguments: &SetupArguments) -> anyhow::Result<()> {
    if arguments.json {
        return json::print(report);
    }
    let user = arguments.user.as_ref().map(|user| format!(" --user {user}"));
    let options = user.unwrap_or_default() + if arguments.stacks { " --stacks" } else { "" };
    let mut page = Page::for_stdout();
    layout::lay_out(report, &options, &mut page);
    Ok(page.print()?)
}

fn undo(meter: &Path, as_json: bool) -> anyhow::Result<Exit> {
    let restored = on_this_machine(meter, |target| Ok(restore_setup(target, meter, LIMIT)))?;
    let (lines, complete) = match restored {
        Ok(lines) => (lines, true),
        Err(RestoreError::Incomplete { lines, .. }) => (lines, false),
        Err(error) => return Err(error.into()),
    };
    if as_json {
        json::print(&serde_json::json!({ "restored": complete, "lines": lines }))?;
    } else {
        let mut page = Page::for_stdout();
        lines.iter().for_each(|line| page.line(line));
        page.print()?;
    }
    Ok(if complete { Exit::Measured } else { Exit::NotMeasured })
}

fn on_this_machine<T>(meter: &Path, question: impl FnOnce(&mut dyn Target) -> anyhow::Result<T>) -> anyhow::Result<T> {
    machine::ask(&machine::find(LOCAL)?, meter, question)
}
