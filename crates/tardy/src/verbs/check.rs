//! `tardy check`: checks whether a machine is set up for real-time work, before anything is measured there.

mod applying;
mod arguments;
mod layout;

pub use arguments::CheckArguments;

use crate::exit::{Exit, UsageError};
use crate::measuring::machine;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Group, Place, Verb};
use applying::Change;
use archive::facts::Facts;
use arguments::Format;
use layout::Shown;
use machines::Target;
use machines::meter_places::MeterPlaces;
use readiness::{Readiness, acceptance_lines, check, kernel_arguments, sysctl_text};
use runner::facts::{gather, parse};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// A slow board needs seconds to read several thousand files.
const LIMIT: Duration = Duration::from_secs(60);

impl Verb for CheckArguments {
    const NAME: &'static str = "check";
    const PLACE: Place = Place::Listed(Group::Measure);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy check",
        "tardy check --cpus 2-3 --priority 90",
        "tardy check --target board --json",
        "tardy check --format cmdline",
        "tardy check --format sysctl > /etc/sysctl.d/90-realtime.conf",
        "tardy check --apply; tardy run ...; tardy target restore",
        "tardy check --format accepted > known.txt; tardy check --accepted known.txt",
    ];
    const NOTES: &'static str = "\
Exit codes: 0 nothing is worse than a notice, 1 something is, 2 wrong usage, 3 the machine could not be checked.";

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &CheckArguments) -> anyhow::Result<Exit> {
    // Errors of the command line are reported before the machine is contacted.
    let judged_by = arguments.judged_by()?;
    let judge = |facts: &Facts| check(facts, &judged_by.subject, &judged_by.checklist, &judged_by.accepted);
    let (facts, change) = match &arguments.facts {
        Some(path) => {
            let bytes =
                fs::read(path).map_err(|error| UsageError(format!("failed to read {}: {error}", path.display())))?;
            let facts = parse(&bytes).map_err(|error| UsageError(format!("{}: {error}", path.display())))?;
            (facts, None)
        }
        None => of_target(arguments, &judge)?,
    };
    if let Some(path) = &arguments.save_facts {
        save(path, &facts)?;
    }
    let readiness = judge(&facts);
    show(arguments, &readiness, change.as_ref(), &facts)?;
    Ok(if readiness.is_ready() { Exit::Measured } else { Exit::LimitExceeded })
}

/// Facts about a machine, after `--apply` if that was requested.
fn of_target(
    arguments: &CheckArguments,
    judge: &dyn Fn(&Facts) -> Readiness,
) -> anyhow::Result<(Facts, Option<Change>)> {
    let known = machine::find(&arguments.target)?;
    if known.is_in_virtual_time() {
        let why = "runs a measurement and nothing else, because its time does; check a target with the same kernel that \
                   is not in virtual time";
        return Err(UsageError(format!("{} {why}", known.name())).into());
    }
    let meter = MeterPlaces::of_process().find()?;
    machine::ask(&known, &meter, |target| facts_of(arguments, target, &meter, judge))
}

fn facts_of(
    arguments: &CheckArguments,
    target: &mut dyn Target,
    meter: &Path,
    judge: &dyn Fn(&Facts) -> Readiness,
) -> anyhow::Result<(Facts, Option<Change>)> {
    let limit = LIMIT * target.slowdown();
    let facts = gather(target, meter, arguments.priority, limit)?;
    if !arguments.apply {
        return Ok((facts, None));
    }
    let change = applying::apply(target, meter, &judge(&facts), arguments.notices, limit)?;
    // The facts describe the machine after the change.
    Ok((gather(target, meter, arguments.priority, limit)?, Some(change)))
}

fn save(path: &Path, facts: &Facts) -> anyhow::Result<()> {
    fs::write(path, json::indented(facts)?)
        .map_err(|error| anyhow::anyhow!("failed to write {}: {error}", path.display()))
}

fn show(
    arguments: &CheckArguments,
    readiness: &Readiness,
    change: Option<&Change>,
    facts: &Facts,
) -> anyhow::Result<()> {
    let to_fix = || readiness.to_fix(arguments.notices);
    if arguments.json {
        let mut document = serde_json::to_value(readiness)?;
        let words = kernel_arguments(to_fix());
        document["ready"] = readiness.is_ready().into();
        document["methods"] = serde_json::to_value(&facts.methods)?;
        document["kernel_arguments"] = serde_json::json!({ "add": words.add, "remove": words.remove });
        if let Some(change) = change {
            document["applied"] = serde_json::to_value(&change.applied)?;
            document["forgotten"] = change.forgotten.into();
        }
        json::print(&document)?;
        return Ok(());
    }
    let mut page = Page::for_stdout();
    match arguments.format {
        Format::Text => {
            let shown = Shown { notices: arguments.notices, fingerprints: arguments.accepted.is_some() };
            layout::lay_out(readiness, change, &shown, &mut page);
        }
        Format::Cmdline => {
            let words = kernel_arguments(to_fix());
            page.line(&words.add.join(" "));
            words.remove.iter().for_each(|word| page.line(&format!("# remove: {word}")));
        }
        Format::Sysctl => sysctl_text(to_fix()).lines().for_each(|line| page.line(line)),
        Format::Accepted => acceptance_lines(to_fix()).iter().for_each(|line| page.line(line)),
    }
    page.print()?;
    Ok(())
}
