//! Measurement plans: reading, checking, and their rounds.

pub mod checked;
pub mod length;
mod machine;
pub mod problem;
pub mod round;
mod shipped;

use crate::exit::UsageError;
use checked::{CheckedPlan, Overrides, PlanHost};
use runner::plan::Plan;
use runner::plan::document::Problem;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use words::printable::printable;

/// A plan for this host, read from its file, with the overrides of the command line.
///
/// # Errors
/// A [`UsageError`]; by then each problem has been printed with its line.
pub fn load(path: &Path, overrides: &Overrides) -> anyhow::Result<CheckedPlan> {
    let text = text_of(path)?;
    let found = match CheckedPlan::read(&Plan::name_of(path), &text, overrides, PlanHost::This) {
        Ok(plan) => return Ok(plan),
        Err(found) => found,
    };
    for problem in &found {
        complain!("{}", printable(&described(path, problem)));
    }
    Err(UsageError(format!("{} cannot be run; `tardy help KEY` describes a key of a plan", path.display())).into())
}

/// The text of a plan, from its file or, where there is none, from the shipped plan of this path.
///
/// # Errors
/// If the file cannot be read, or there is neither.
pub fn text_of(path: &Path) -> Result<String, UsageError> {
    let error = match fs::read_to_string(path) {
        Ok(text) => return Ok(text),
        Err(error) => error,
    };
    let shown = path.display();
    if error.kind() != ErrorKind::NotFound {
        return Err(UsageError(format!("failed to read the plan {shown}: {error}")));
    }
    let Some(text) = shipped::text(path) else {
        return Err(UsageError(format!(
            "failed to read the plan {shown}: {error}; `tardy lab plan new {shown}` writes a template"
        )));
    };
    complain!("tardy: {} is not a file here; tardy uses the shipped plan of this name", printable(&shown.to_string()));
    Ok(text.to_owned())
}

/// A problem in the format that editors parse: file, line, text.
pub fn described(path: &Path, problem: &Problem) -> String {
    match problem.line {
        Some(line) => format!("{}:{line}: {}", path.display(), problem.text),
        None => format!("{}: {}", path.display(), problem.text),
    }
}
