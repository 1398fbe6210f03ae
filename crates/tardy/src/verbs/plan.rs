//! `tardy lab plan`: checks, shows and creates measurement plans. `tardy run PLAN` runs them.

mod show;

use crate::exit::{Exit, UsageError};
use crate::plans::checked::{CheckedPlan, Overrides, PlanHost};
use crate::plans::length::too_short;
use crate::plans::{described, load, text_of};
use crate::terminal::json;
use crate::terminal::page::Page;
use crate::verb::{Parent, Place, Verb};
use anyhow::Context;
use clap::{Args, Subcommand};
use runner::plan::Plan;
use runner::plan::document::Problem;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

/// Contents of the file that `tardy lab plan new` writes.
const TEMPLATE: &str = include_str!("plan/template.toml");

/// Create, check and show plans of what to measure
#[derive(Debug, Args)]
pub struct PlanArguments {
    #[command(subcommand)]
    verb: PlanVerb,
}

#[derive(Debug, Subcommand)]
enum PlanVerb {
    /// Check plans and report every wrong line
    Check(CheckArguments),
    /// Show the steps of a plan
    Show(ShowArguments),
    /// Write a template of a plan
    New(NewArguments),
}

#[derive(Debug, Args)]
struct CheckArguments {
    /// Files of plans
    #[arg(value_name = "PLAN", required = true)]
    plans: Vec<PathBuf>,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct ShowArguments {
    /// File of a plan
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct NewArguments {
    /// File to write
    #[arg(value_name = "PLAN")]
    plan: PathBuf,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
}

impl Verb for PlanArguments {
    const NAME: &'static str = "plan";
    const PLACE: Place = Place::Below(Parent::Lab);
    const EXAMPLES: &'static [&'static str] = &[
        "tardy lab plan new lathe.toml",
        "tardy lab plan check plans/smoke.toml",
        "tardy lab plan show plans/founding-talk.toml",
        "tardy run plans/smoke.toml",
    ];
    const NOTES: &'static str = "\
`tardy help KEY` describes a key of a plan.";
    const FORMER_NAMES: &'static [&'static str] = &["plan"];

    fn run(&self, _typed: Vec<String>) -> anyhow::Result<Exit> {
        run(self)
    }
}

fn run(arguments: &PlanArguments) -> anyhow::Result<Exit> {
    match &arguments.verb {
        PlanVerb::Check(check) => check_plans(check),
        PlanVerb::Show(show) => show_plan(show),
        PlanVerb::New(new) => new_plan(&new.plan, new.json),
    }
}

fn check_plans(arguments: &CheckArguments) -> anyhow::Result<Exit> {
    let (mut page, mut documents, mut sound) = (Page::for_stdout(), Vec::new(), true);
    for path in &arguments.plans {
        let text = text_of(path)?;
        match CheckedPlan::read(&Plan::name_of(path), &text, &Overrides::default(), PlanHost::This) {
            Ok(plan) => {
                let too_short: Vec<String> = too_short(&plan).iter().map(ToString::to_string).collect();
                page.record(0, &format!("{} is sound: {}", path.display(), show::extent(&plan)));
                too_short.iter().for_each(|limit| page.wrapped("  ", limit));
                let steps = plan.steps.len();
                documents
                    .push(serde_json::json!({ "plan": path, "sound": true, "steps": steps, "too_short": too_short }));
            }
            Err(found) => {
                sound = false;
                found.iter().for_each(|problem| page.line(&described(path, problem)));
                let problem = |problem: &Problem| serde_json::json!({ "line": problem.line, "text": problem.text });
                let problems: Vec<serde_json::Value> = found.iter().map(problem).collect();
                documents.push(serde_json::json!({ "plan": path, "sound": false, "problems": problems }));
            }
        }
    }
    if arguments.json {
        json::print(&serde_json::Value::from(documents))?;
    } else {
        page.print()?;
    }
    Ok(if sound { Exit::Measured } else { Exit::Usage })
}

fn show_plan(arguments: &ShowArguments) -> anyhow::Result<Exit> {
    let plan = load(&arguments.plan, &Overrides::default())?;
    if arguments.json {
        json::print(&show::document(&plan))?;
    } else {
        show::lay_out(&plan, Page::for_stdout()).print()?;
    }
    Ok(Exit::Measured)
}

fn new_plan(path: &Path, json: bool) -> anyhow::Result<Exit> {
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(UsageError(format!("{} exists already; choose another name", path.display())).into());
        }
        Err(error) => return Err(error).with_context(|| format!("failed to write {}", path.display())),
    };
    file.write_all(TEMPLATE.as_bytes()).with_context(|| format!("failed to write {}", path.display()))?;
    if json {
        json::print(&serde_json::json!({ "written": path }))?;
        return Ok(Exit::Measured);
    }
    let mut page = Page::for_stdout();
    let path = words::shell::quoted(&path.display().to_string());
    page.record(0, &format!("{path} is a plan of two steps on this machine; change it, then"));
    page.line(&format!("  tardy lab plan show {path}"));
    page.line(&format!("  tardy run {path}"));
    page.print()?;
    Ok(Exit::Measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_a_plan() {
        let plan = CheckedPlan::read("template", TEMPLATE, &Overrides::default(), PlanHost::This).unwrap();
        assert_eq!(plan.steps.len(), 2);
    }
}
