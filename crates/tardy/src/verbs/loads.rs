//! `tardy list loads`: the loads that can run during a measurement.

use crate::briefs::loads::{loads, unknown};
use crate::exit::Exit;
use crate::options::brief::BriefArgument;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use archive::culprit::Culprit;
use archive::load::{BUILTIN_LOADS, BuiltinLoad, PROGRAM_LOADS, ProgramLoad, builtin, program};
use clap::Args;
use serde_json::{Value, json};

const BY_WORK: &str = "by work alone: every run does the same work in the same order, numbers from a fixed seed";
const BY_CLOCK: &str =
    "by a clock as well: it waits for an instant or no longer than a time, so what it does depends on when";

/// List every load: what it does, what it counts, and its default number of workers
#[derive(Debug, Args)]
pub struct LoadsArguments {
    /// Show everything about this load
    name: Option<String>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    brief: BriefArgument,
}

impl Verb for LoadsArguments {
    const NAME: &'static str = "loads";
    const PLACE: Place = Place::Below(Parent::List);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy list loads",
        "tardy list loads tlb",
        "tardy run --load messaging:4 --load stress-ng:hdd,workers=2,cpus=0-1",
    ];
    const NOTES: &'static str = "\
Exit codes: 0 listed, 2 wrong usage.";
    const FORMER_NAMES: &'static [&'static str] = &["load list", "load"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &LoadsArguments) -> anyhow::Result<Exit> {
    if arguments.brief.is_given() {
        json::print(&loads(arguments.name.as_deref())?)?;
        return Ok(Exit::Measured);
    }
    let of_name = |name: &str| arguments.name.as_deref().is_none_or(|wanted| wanted == name);
    if arguments.json {
        let builtin: Vec<Value> =
            BUILTIN_LOADS.iter().filter(|load| of_name(load.name)).map(builtin_document).collect();
        let programs: Vec<Value> =
            PROGRAM_LOADS.iter().filter(|load| of_name(load.name)).map(program_document).collect();
        json::print(&json!({ "builtin": builtin, "programs": programs }))?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    match arguments.name.as_deref() {
        None => all(&mut page),
        Some(name) => match (builtin(name), program(name)) {
            (Some(load), _) => one_builtin(load, &mut page),
            (None, Some(load)) => one_program(load, &mut page),
            (None, None) => return Err(unknown(name).into()),
        },
    }
    page.print()?;
    Ok(Exit::Measured)
}

fn all(page: &mut Page) {
    page.heading("Built in");
    for load in &BUILTIN_LOADS {
        let workers = match load.parts {
            [] => format!("{}: {}", load.worker, load.workers),
            _ => "see its parts".into(),
        };
        let text = format!("{}. Counts {}; workers ({workers})", load.what, load.unit);
        let name = if load.by_work { format!("{} *", load.name) } else { load.name.to_owned() };
        page.wrapped(&format!("  {name:<13} "), &text);
    }
    page.blank();
    page.wrapped(
        "  * ",
        "Bounded by work alone: rounds of a fixed number of files, bytes, pages or messages, numbers from a fixed seed, no clock. Every \
         run does the same work in the same order. Best for virtual time, and to see what a change costs.",
    );
    page.blank();
    page.heading("Programs of the target's");
    for load in &PROGRAM_LOADS {
        let text = format!("{}. Counts {}; like {}", load.what, load.unit, load.example);
        page.wrapped(&format!("  {:<13} ", load.name), &text);
    }
    page.blank();
    page.wrapped(
        "",
        "A built-in load needs nothing on the target; `--load NAME:4` gives it four workers. A program must be installed there; \
         `tardy list loads NAME` says what it takes. Any other command is a load by --load-cmd.",
    );
}

fn one_builtin(load: &BuiltinLoad, page: &mut Page) {
    page.heading(load.name);
    page.wrapped("  does      ", load.what);
    page.wrapped("  counts    ", load.unit);
    page.wrapped("  worker    ", &format!("a {}", load.worker));
    page.wrapped("  workers   ", &format!("{} [--load {}:N]", load.workers, load.name));
    page.wrapped("  bounded   ", if load.by_work { BY_WORK } else { BY_CLOCK });
    if !load.parts.is_empty() {
        page.wrapped("  parts     ", &load.parts.join(", "));
    }
    if !load.culprits.is_empty() {
        page.wrapped("  provokes  ", &load.culprits.iter().map(Culprit::id).collect::<Vec<_>>().join(", "));
    }
    if !load.needs.is_empty() {
        page.wrapped("  needs     ", load.needs);
    }
}

fn one_program(load: &ProgramLoad, page: &mut Page) {
    page.heading(load.name);
    page.wrapped("  does      ", load.what);
    page.wrapped("  counts    ", load.unit);
    if let Some(subject) = load.subject {
        page.wrapped("  first     ", subject.what);
    }
    for option in load.options {
        let shown = if option.flag { option.key.to_owned() } else { format!("{}=", option.key) };
        page.wrapped(&format!("  {shown:<10}"), option.what);
    }
    page.wrapped("  example   ", &format!("--load {}", load.example));
    page.wrapped("  missing?  ", load.fix);
}

fn builtin_document(load: &BuiltinLoad) -> Value {
    json!({
        "name": load.name, "what": load.what, "unit": load.unit, "worker": load.worker,
        "workers": load.workers.to_string(), "by_work": load.by_work, "parts": load.parts, "culprits": load.culprits, "needs": load.needs,
    })
}

fn program_document(load: &ProgramLoad) -> Value {
    let options: Vec<Value> = load
        .options
        .iter()
        .map(|option| json!({ "key": option.key, "flag": option.flag, "what": option.what }))
        .collect();
    json!({
        "name": load.name, "what": load.what, "unit": load.unit, "subject": load.subject.map(|subject| subject.what),
        "options": options, "example": load.example, "fix": load.fix,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_load_is_on_the_page_and_fits() {
        let mut page = Page::new(false);
        all(&mut page);
        let text = page.text();
        for name in BUILTIN_LOADS.iter().map(|load| load.name).chain(PROGRAM_LOADS.iter().map(|load| load.name)) {
            assert!(text.lines().any(|line| line.split_whitespace().next() == Some(name)), "{name}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
    }
}
