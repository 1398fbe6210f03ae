//! `tardy list`: the archives below a directory.

use crate::archives::RUNS;
use crate::briefs::runs::runs;
use crate::exit::{Exit, UsageError};
use crate::listing::{FilterArguments, Listed, listed_below};
use crate::options::brief::BriefArgument;
use crate::options::quantity::whole;
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::terminal::screen;
use crate::terminal::table::{Align, Table};
use crate::verb::{Group, Place, Verb};
use archive::manifest::RunState;
use clap::Args;
use std::path::{Path, PathBuf};
use words::calendar::civil;
use words::culprits::named;
use words::figures::{counted, duration, latency};
use words::vocabulary::counted_limit;

/// List runs, oldest first; or loads, methods, verbs
#[derive(Debug, Args)]
pub struct ListArguments {
    /// The directory with the archives
    #[arg(default_value = RUNS)]
    directory: PathBuf,
    #[command(flatten)]
    filter: FilterArguments,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    brief: BriefArgument,
    /// With --brief, which begins with the newest run: leave out N runs
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = whole::<usize>(0..), requires = "brief", hide_short_help = true)]
    skip: usize,
}

impl Verb for ListArguments {
    const NAME: &'static str = "list";
    const PLACE: Place = Place::Listed(Group::Understand);
    const EXAMPLES: &'static [&'static str] = &["tardy list", "tardy list nightly/ --json"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &ListArguments) -> anyhow::Result<Exit> {
    let directory = &arguments.directory;
    // Before the first run there is no `runs` yet, which is not an error.
    if !directory.is_dir() && directory != Path::new(RUNS) {
        let text = format!("failed to list {}: there is no such directory", directory.display());
        return Err(UsageError(text).into());
    }
    let listed = listed_below(directory, &arguments.filter);
    if arguments.brief.is_given() {
        json::print(&runs(&listed, arguments.skip))?;
        return Ok(Exit::Measured);
    }
    if arguments.json {
        let document = serde_json::json!({ "runs": listed });
        json::print(&document)?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    if listed.is_empty() {
        page.record(0, &format!("no runs below {}; `tardy run` makes one", directory.display()));
        page.print()?;
        return Ok(Exit::Measured);
    }
    lay_out(&listed, directory, screen::width(), &mut page);
    page.print()?;
    Ok(Exit::Measured)
}

/// One line per run if the width suffices, as in a pipe; else two, or a block.
fn lay_out(listed: &[Listed], directory: &Path, columns: Option<usize>, page: &mut Page) {
    let wide = wide(listed, directory);
    let widest = wide.iter().map(|line| line.chars().count()).max().unwrap_or(0);
    if columns.is_none_or(|columns| widest <= columns) {
        page.heading(&wide[0]);
        return wide[1..].iter().for_each(|line| page.line(line));
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right, Align::Left]);
    table.row(["run", "measured", "max", "spikes", "state"]);
    listed.iter().for_each(|run| table.row(figures(run, directory)));
    let lines = table.lines();
    if lines.iter().any(|line| columns.is_some_and(|columns| line.chars().count() > columns)) {
        for run in listed {
            let [name, measured, latest, _, state] = figures(run, directory);
            let figures = vec![measured, format!("max {latest}"), counted(run.spikes as u64, "spike"), state];
            page.heading(&name);
            page.wrapped("    ", &[figures, circumstances(run)].concat().join("; "));
        }
        return;
    }
    page.heading(&lines[0]);
    for (line, run) in lines[1..].iter().zip(listed) {
        page.line(line);
        page.wrapped("    ", &circumstances(run).join("; "));
    }
}

fn wide(listed: &[Listed], directory: &Path) -> Vec<String> {
    // Most directories hold wake-ups by a timer only: the column would be empty.
    let methods = listed.iter().any(|run| run.method.is_some() || run.watched.is_some());
    let mut columns = vec![Align::Left, Align::Right, Align::Right, Align::Right, Align::Left];
    columns.extend(vec![Align::Left; 7 + usize::from(methods)]);
    let mut table = Table::new(&columns);
    let [run, target, latencies] = [
        &["run", "measured", "max", "spikes", "state", "when (UTC)"][..],
        &["target", "kernel", "preemption"],
        &["load", "limit", "worst cause"],
    ];
    let method: &[&str] = if methods { &["method"] } else { &[] };
    table.row([run, target, method, latencies].concat());
    for run in listed {
        let mut row: Vec<String> = figures(run, directory).into();
        row.push(run.started_unix_ns.map_or("-".into(), when));
        row.extend([run.target.clone(), run.kernel.clone(), run.preemption.clone()]);
        let watched = run.watched.as_ref().map(|program| format!("watch {program}"));
        row.extend(methods.then(|| run.method.clone().or(watched).unwrap_or("timer".into())));
        row.extend([
            run.load.clone(),
            limit(run).unwrap_or("-".into()),
            run.worst_cause.as_deref().map_or("-".into(), named),
        ]);
        table.row(row);
    }
    table.lines()
}

fn figures(run: &Listed, directory: &Path) -> [String; 5] {
    [
        // As the user can type it: below `runs` without the directory.
        Path::new(&run.archive).strip_prefix(directory).map_or(run.archive.clone(), |path| path.display().to_string()),
        run.measured_ns.map_or("-".into(), duration),
        max(run),
        run.spikes.to_string(),
        state_words(run),
    ]
}

fn max(run: &Listed) -> String {
    let at_least = if run.max_is_least { "≥ " } else { "" };
    run.latency_ns_max.map_or("-".into(), |max| format!("{at_least}{}", latency(max)))
}

/// Circumstances that distinguish a run from others, in short phrases.
fn circumstances(run: &Listed) -> Vec<String> {
    let mut phrases = vec![run.target.clone(), run.kernel.clone(), format!("preemption {}", run.preemption)];
    phrases.extend(run.method.as_ref().map(|method| format!("method {method}")));
    phrases.extend(run.watched.as_ref().map(|program| format!("watches {program}")));
    phrases.push(format!("load {}", run.load));
    phrases.extend(limit(run).map(|limit| format!("limit {limit}")));
    phrases.extend(run.worst_cause.as_ref().map(|cause| format!("worst: {}", named(cause))));
    phrases.retain(|phrase| !phrase.is_empty());
    phrases
}

fn limit(run: &Listed) -> Option<String> {
    let limit = latency(run.limit_ns?);
    Some(run.limit.map_or(limit.clone(), |shown| format!("{limit} {}", counted_limit(shown))))
}

fn when(unix_ns: i64) -> String {
    let (day, time) = civil(u64::try_from(unix_ns / 1_000_000_000).unwrap_or(0));
    format!("{day} {time}")
}

fn state_words(run: &Listed) -> String {
    let words = match (run.state, run.valid) {
        (RunState::Running, _) if run.goes_on => "running",
        (RunState::Running, _) => "cut off",
        (RunState::Failed, _) => "failed",
        (_, false) => "invalid",
        (RunState::Complete, true) => "complete",
        (RunState::Interrupted, true) => "stopped early",
    };
    let mut words = vec![words.to_owned()];
    if run.degraded {
        words.push("degraded".into());
    }
    match (run.virtual_time, run.emulated) {
        (true, _) => words.push("virtual time".into()),
        (false, true) => words.push("emulated".into()),
        (false, false) => {}
    }
    if run.collectable {
        words.push("to be collected".into());
    }
    match &run.imported {
        Some(tool) if run.valid => format!("imported from {tool}"),
        Some(tool) => format!("{}, imported from {tool}", words.join(", ")),
        None => words.join(", "),
    }
}
