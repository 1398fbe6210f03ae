//! `tardy list methods`: what each method measures, what it needs, and whether it can run on a target.

use crate::briefs::methods::{methods, named};
use crate::exit::{Exit, UsageError};
use crate::measuring::machine;
use crate::measuring::signals::Signals;
use crate::options::brief::BriefArgument;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use crate::verb::{Parent, Place, Verb};
use archive::facts::Facts;
use archive::method::state::{MethodState, Obstacle};
use archive::method::{METHODS, MethodDefinition, MethodOption, OtherPath, Values};
use clap::Args;
use machines::meter_places::MeterPlaces;
use serde::Serialize;
use std::time::Duration;
use words::printable::printable;

const LIMIT: Duration = Duration::from_secs(60);
/// The default priority of `tardy run`.
const PRIORITY: u8 = 80;

/// List the methods of `run --method` and whether a target has them
#[derive(Debug, Args)]
pub struct MethodsArguments {
    /// Show what this method measures, its options, and what is missing for it
    method: Option<String>,
    /// Target to ask: `local`, or one added with `tardy target add`
    #[arg(long, value_name = "NAME", default_value = "local")]
    target: String,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    brief: BriefArgument,
}

#[derive(Debug, Serialize)]
struct Listed {
    name: &'static str,
    /// The stretch that a sample measures.
    from: &'static str,
    to: &'static str,
    /// The same with other options.
    others: Vec<ListedPath>,
    original: &'static str,
    needs: &'static str,
    options: Vec<ListedOption>,
    /// Absent if the meter of the target does not support this method.
    runs: Option<bool>,
    missing: Vec<Obstacle>,
}

#[derive(Debug, Serialize)]
struct ListedPath {
    /// As they are written behind the name of the method.
    options: String,
    from: &'static str,
    to: &'static str,
}

#[derive(Debug, Serialize)]
struct ListedOption {
    key: &'static str,
    values: String,
    what: &'static str,
}

impl Verb for MethodsArguments {
    const NAME: &'static str = "methods";
    const PLACE: Place = Place::Below(Parent::List);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy list methods",
        "tardy list methods semaphore",
        "tardy list methods --target board --json",
        "tardy run --method semaphore:kind=sysv --duration 20s",
    ];
    const FORMER_NAMES: &'static [&'static str] = &["methods"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &MethodsArguments) -> anyhow::Result<Exit> {
    if arguments.brief.is_given() {
        json::print(&methods(arguments.method.as_deref())?)?;
        return Ok(Exit::Measured);
    }
    let chosen = chosen(arguments.method.as_deref())?;
    let facts = facts(&arguments.target)?;
    let listed: Vec<Listed> = chosen.into_iter().map(|definition| listed(definition, &facts.methods)).collect();
    if arguments.json {
        json::print(&serde_json::json!({ "target": arguments.target, "methods": listed }))?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    match (&arguments.method, listed.as_slice()) {
        (Some(_), [method]) => lay_out(method, &mut page),
        _ => lay_out_all(&listed, &mut page),
    }
    page.print()?;
    Ok(Exit::Measured)
}

/// The methods to show; a method may be given with options, as for `run --method`.
fn chosen(name: Option<&str>) -> Result<Vec<&'static MethodDefinition>, UsageError> {
    let Some(typed) = name else { return Ok(METHODS.iter().collect()) };
    Ok(vec![named(typed)?])
}

fn facts(name: &str) -> anyhow::Result<Facts> {
    let known = machine::find(name)?;
    if known.is_in_virtual_time() {
        let why = "runs a measurement and nothing else, because its time does; ask a target with the same kernel that is not in virtual time";
        return Err(UsageError(format!("{name} {why}")).into());
    }
    let meter = MeterPlaces::of_process().find()?;
    let mut target = machine::open(&known, &meter, &Signals::watch()?)?;
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
        from: definition.entry.from,
        to: definition.entry.to,
        others: definition.entry.others.iter().map(other).collect(),
        original: definition.entry.original,
        needs: definition.entry.needs,
        options: definition.entry.options.iter().map(option).collect(),
        runs: state.map(|state| state.obstacles.is_empty()),
        missing: state.map_or_else(Vec::new, |state| state.obstacles.clone()),
    }
}

fn other(path: &OtherPath) -> ListedPath {
    let options = path.options.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>();
    ListedPath { options: options.join(","), from: path.from, to: path.to }
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

fn state(method: &Listed) -> &'static str {
    match method.runs {
        Some(true) => "runs here",
        Some(false) => "cannot run here",
        None => "not known to the target's meter",
    }
}

fn lay_out_all(methods: &[Listed], page: &mut Page) {
    let mut table = Table::new(&[Align::Left; 3]);
    table.row(["method", "here", "like"]);
    for method in methods {
        table.row([method.name, state(method), method.original]);
    }
    page.headed_table(&table);
    page.blank();
    page.wrapped("", "`tardy list methods NAME` shows what one measures, its options, and what is missing for it.");
}

fn lay_out(method: &Listed, page: &mut Page) {
    page.heading(&format!("{}: {}", method.name, state(method)));
    page.wrapped("  from  ", method.from);
    page.wrapped("  to    ", method.to);
    for path in &method.others {
        page.wrapped("  ", &format!("{}:", path.options));
        page.wrapped("    from  ", path.from);
        page.wrapped("    to    ", path.to);
    }
    page.wrapped("  like  ", method.original);
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
        let mut page = Page::new(false).with_columns(80);
        lay_out_all(&[of("semaphore"), of("timer")], &mut page);
        assert!(page.text().contains("semaphore  cannot run here"), "{}", page.text());
        let all: Vec<Listed> = METHODS.iter().map(|definition| listed(definition, &states)).collect();
        let mut narrow = Page::new(false).with_columns(50);
        lay_out_all(&all, &mut narrow);
        all.iter().for_each(|method| lay_out(method, &mut narrow));
        assert!(narrow.text().lines().all(|line| line.chars().count() <= 50), "{}", narrow.text());
    }

    #[test]
    fn a_method_is_found_with_and_without_its_options() {
        assert_eq!(chosen(None).unwrap().len(), METHODS.len());
        assert_eq!(chosen(Some("semaphore:kind=sysv")).unwrap()[0].name, "semaphore");
        assert!(chosen(Some("semafore")).unwrap_err().to_string().contains("`semaphore`"));
    }
}
