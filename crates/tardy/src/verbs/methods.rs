//! `tardy methods`: what each method measures, what it needs, and whether it can run on a target.

use crate::exit::{Exit, UsageError};
use crate::measuring::machine::{self, is_in_virtual_time};
use crate::measuring::signals::Signals;
use crate::terminal::json;
use crate::terminal::page::Page;
use archive::facts::Facts;
use archive::method::state::{MethodState, Obstacle};
use archive::method::{METHODS, MethodDefinition, MethodOption, Values};
use clap::Args;
use machines::meter_places::MeterPlaces;
use serde::Serialize;
use std::time::Duration;
use words::printable::printable;

const LIMIT: Duration = Duration::from_secs(60);
/// The default priority of `tardy run`.
const PRIORITY: u8 = 80;

const EXAMPLES: &str = "\
Examples:
  tardy methods
  tardy methods --target board --json
  tardy run --method semaphore:kind=sysv --duration 20s";

/// List the methods of `run --method` and whether a target has them
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct MethodsArguments {
    /// Target to ask: `local`, or one added with `tardy target add`
    #[arg(long, value_name = "NAME", default_value = "local")]
    target: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Listed {
    name: &'static str,
    /// The stretch that a sample measures.
    from: &'static str,
    to: &'static str,
    original: &'static str,
    needs: &'static str,
    options: Vec<ListedOption>,
    /// Absent if the meter of the target does not support this method.
    runs: Option<bool>,
    missing: Vec<Obstacle>,
}

#[derive(Debug, Serialize)]
struct ListedOption {
    key: &'static str,
    values: String,
    what: &'static str,
}

pub fn run(arguments: &MethodsArguments) -> anyhow::Result<Exit> {
    let facts = facts(&arguments.target)?;
    let listed: Vec<Listed> = METHODS.iter().map(|definition| listed(definition, &facts.methods)).collect();
    if arguments.json {
        json::print(&serde_json::json!({ "target": arguments.target, "methods": listed }))?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    for method in &listed {
        lay_out(method, &mut page);
    }
    page.print()?;
    Ok(Exit::Measured)
}

fn facts(name: &str) -> anyhow::Result<Facts> {
    if is_in_virtual_time(name) {
        let why = "runs a measurement and nothing else, because its time does; ask a target with the same kernel that is not in virtual time";
        return Err(UsageError(format!("{name} {why}")).into());
    }
    let meter = MeterPlaces::of_process().find()?;
    let mut target = machine::open(name, &meter, &Signals::watch()?)?;
    target.prepare()?;
    let limit = LIMIT * target.slowdown();
    let facts = runner::facts::gather(target.as_mut(), &meter, PRIORITY, limit);
    let closed = target.close();
    let facts = facts?;
    closed?;
    Ok(facts)
}

fn listed(definition: &'static MethodDefinition, states: &[MethodState]) -> Listed {
    let state = states.iter().find(|state| state.method == definition.name);
    Listed {
        name: definition.name,
        from: definition.from,
        to: definition.to,
        original: definition.original,
        needs: definition.needs,
        options: definition.options.iter().map(option).collect(),
        runs: state.map(|state| state.obstacles.is_empty()),
        missing: state.map_or_else(Vec::new, |state| state.obstacles.clone()),
    }
}

fn option(option: &MethodOption) -> ListedOption {
    let values = match option.values {
        Values::OneOf(values) => values.join(", "),
        Values::Number { least, most, default } => format!("{least} to {most}, default {default}"),
        Values::Text => "text".into(),
        Values::Flag => "flag".into(),
    };
    ListedOption { key: option.key, values, what: option.what }
}

fn lay_out(method: &Listed, page: &mut Page) {
    let state = match method.runs {
        Some(true) => "runs here",
        Some(false) => "cannot run here",
        None => "not known to the target's meter",
    };
    page.heading(&format!("{}: {state}", method.name));
    page.wrapped("  ", &format!("from: {}", method.from));
    page.wrapped("  ", &format!("to:   {}", method.to));
    page.wrapped("  ", &format!("as:   {}", method.original));
    if !method.needs.is_empty() {
        page.wrapped("  ", &format!("needs: {}", method.needs));
    }
    for option in &method.options {
        page.wrapped("  ", &format!("{}: {} ({})", option.key, option.what, option.values));
    }
    for missing in &method.missing {
        let fix = if missing.fix.is_empty() { String::new() } else { format!("; {}", missing.fix) };
        page.wrapped("  ", &format!("missing: {}", printable(&format!("{}{fix}", missing.text))));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::method::state::ObstacleKind;

    #[test]
    fn what_is_missing_is_named_and_an_old_meter_is_no_refusal() {
        let obstacle = Obstacle { kind: ObstacleKind::Kernel, text: "no semaphores".into(), fix: String::new() };
        let states = [MethodState { method: "semaphore".into(), obstacles: vec![obstacle] }];
        let of = |name: &str| {
            let definition = METHODS.iter().find(|definition| definition.name == name).unwrap();
            listed(definition, &states)
        };
        assert_eq!((of("semaphore").runs, of("timer").runs), (Some(false), None));
        assert_eq!(of("semaphore").missing.len(), 1);
    }
}
