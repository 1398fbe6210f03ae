//! `tardy plan`: files that say what to measure, checked, shown, begun. `tardy run PLAN` runs them.

pub mod checked;
mod machine;
pub mod round;
mod show;

use super::exit::{Exit, UsageError};
use crate::text::page::{Page, write_stdout};
use anyhow::Context;
use checked::{CheckedPlan, Overrides};
use clap::{Args, Subcommand};
use runner::plan::Plan;
use runner::plan::document::Problem;
use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use words::printable::printable;

/// What `tardy plan new` writes.
const TEMPLATE: &str = include_str!("plan/template.toml");

const EXAMPLES: &str = "\
Examples:
  tardy plan new lathe.toml
  tardy plan check plans/*.toml
  tardy plan show plans/founding-talk.toml
  tardy run plans/smoke.toml

docs/how-to/plans.md says what a plan may hold.";

/// Plans: what to measure, on what, beside what, and what must hold
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct PlanArguments {
    #[command(subcommand)]
    verb: PlanVerb,
}

#[derive(Debug, Subcommand)]
enum PlanVerb {
    /// Say whether plans are sound, and what is wrong with each line that is not
    Check(CheckArguments),
    /// Show the steps of a plan
    Show(ShowArguments),
    /// Write a plan to start from
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
}

pub fn run(arguments: &PlanArguments) -> anyhow::Result<Exit> {
    match &arguments.verb {
        PlanVerb::Check(check) => check_plans(check),
        PlanVerb::Show(show) => show_plan(show),
        PlanVerb::New(new) => new_plan(&new.plan),
    }
}

/// A plan read from its file, with what was typed beside it.
///
/// # Errors
/// A [`UsageError`]; what is wrong with which line was told by then.
pub fn load(path: &Path, overrides: &Overrides) -> anyhow::Result<CheckedPlan> {
    let text = text_of(path)?;
    let found = match CheckedPlan::read(&Plan::name_of(path), &text, overrides) {
        Ok(plan) => return Ok(plan),
        Err(found) => found,
    };
    for problem in &found {
        complain!("{}", printable(&told(path, problem)));
    }
    Err(UsageError(format!("{} cannot be run; docs/how-to/plans.md says what a plan may hold", path.display())).into())
}

fn text_of(path: &Path) -> Result<String, UsageError> {
    fs::read_to_string(path).map_err(|error| UsageError(format!("failed to read the plan {}: {error}", path.display())))
}

/// A problem as editors find it: file, line, text.
fn told(path: &Path, problem: &Problem) -> String {
    match problem.line {
        Some(line) => format!("{}:{line}: {}", path.display(), problem.text),
        None => format!("{}: {}", path.display(), problem.text),
    }
}

fn check_plans(arguments: &CheckArguments) -> anyhow::Result<Exit> {
    let (mut page, mut documents, mut sound) = (Page::for_stdout(), Vec::new(), true);
    for path in &arguments.plans {
        let text = text_of(path)?;
        match CheckedPlan::read(&Plan::name_of(path), &text, &Overrides::default()) {
            Ok(plan) => {
                page.line(&format!("{} is sound: {}", path.display(), show::extent(&plan)));
                documents.push(serde_json::json!({ "plan": path, "sound": true, "steps": plan.steps.len() }));
            }
            Err(found) => {
                sound = false;
                found.iter().for_each(|problem| page.line(&told(path, problem)));
                let problem = |problem: &Problem| serde_json::json!({ "line": problem.line, "text": problem.text });
                let problems: Vec<serde_json::Value> = found.iter().map(problem).collect();
                documents.push(serde_json::json!({ "plan": path, "sound": false, "problems": problems }));
            }
        }
    }
    if arguments.json {
        write_stdout(format!("{}\n", serde_json::Value::from(documents)).as_bytes())?;
    } else {
        page.print()?;
    }
    Ok(if sound { Exit::Measured } else { Exit::Usage })
}

fn show_plan(arguments: &ShowArguments) -> anyhow::Result<Exit> {
    let plan = load(&arguments.plan, &Overrides::default())?;
    if arguments.json {
        write_stdout(format!("{}\n", show::document(&plan)).as_bytes())?;
    } else {
        show::lay_out(&plan, Page::for_stdout()).print()?;
    }
    Ok(Exit::Measured)
}

fn new_plan(path: &Path) -> anyhow::Result<Exit> {
    let mut file = match OpenOptions::new().write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(UsageError(format!("{} exists already; choose another name", path.display())).into());
        }
        Err(error) => return Err(error).with_context(|| format!("failed to write {}", path.display())),
    };
    file.write_all(TEMPLATE.as_bytes()).with_context(|| format!("failed to write {}", path.display()))?;
    let mut page = Page::for_stdout();
    let path = crate::summary_text::quoted(&path.display().to_string());
    page.line(&format!("{path} is a plan of two steps on this machine; change it, then"));
    page.line(&format!("  tardy plan show {path}"));
    page.line(&format!("  tardy run {path}"));
    page.print()?;
    Ok(Exit::Measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_is_a_plan() {
        let plan = CheckedPlan::read("template", TEMPLATE, &Overrides::default()).unwrap();
        assert_eq!(plan.steps.len(), 2);
    }
}
