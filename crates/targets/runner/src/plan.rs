//! Plans: what to measure, on which targets, with which loads, how long, and what must hold, as a TOML file. A plan
//! expands into [`step::Step`]s, each of which is one run.
//!
//! The caller declares the keys that are options of `tardy run` and parses their values, and the limits like `tardy judge`.
//! `docs/how-to/plans.md` describes the file.

mod axes;
pub mod document;
mod limits;
pub mod options;
pub mod schedule;
pub mod step;

pub use axes::{KernelChoice, LoadChoice, Variant};
pub use limits::PlanLimit;

use document::{Problem, Problems, Section, Written, parse};
use options::{Keys, PlanOption};
use std::path::Path;

/// Most steps of a plan: a mistake in a matrix must not cause a measurement of years.
const STEPS_MAX: usize = 10_000;
/// Allowed number of repetitions.
const REPETITIONS: std::ops::RangeInclusive<u32> = 1..=1000;

/// Contents of a plan file.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Name of the file, without its extension.
    pub name: String,
    /// The whole file.
    pub text: String,
    /// One sentence.
    pub about: String,
    pub targets: Vec<String>,
    /// Empty: each target's own.
    pub kernels: Vec<KernelChoice>,
    /// Never empty.
    pub loads: Vec<LoadChoice>,
    /// Empty: everything as in the plan.
    pub variants: Vec<Variant>,
    pub repetitions: u32,
    /// Options of every step, except those that its variant replaces.
    pub options: Vec<PlanOption>,
    pub limits: Vec<PlanLimit>,
    /// How often a limit may be broken unless it has its own rate.
    pub allow: Option<Written>,
    /// In percent.
    pub confidence: Option<Written>,
    /// Doubts about the machine that do not prevent PASS.
    pub accept: Vec<Written>,
}

impl Plan {
    /// Parses a plan file: returns everything that could be parsed, `None` if it is not TOML, and all problems, sorted
    /// by line. `keys`: those that are options of a run.
    pub fn read(name: &str, text: &str, keys: &Keys) -> (Option<Self>, Vec<Problem>) {
        let mut problems = Problems::of(text);
        let table = parse(text, &mut problems);
        let plan = table.as_ref().map(|table| {
            let document = Section::new("", table.get_ref(), table.span());
            read(name, text, document, keys, &mut problems)
        });
        (plan, problems.into_found())
    }

    /// The name of a plan: its file name without the extension.
    pub fn name_of(path: &Path) -> String {
        path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn read(name: &str, text: &str, mut document: Section, keys: &Keys, problems: &mut Problems) -> Plan {
    let about = document.scalar("about", problems).map(|written| written.text).unwrap_or_default();
    let repetitions = document.scalar("repetitions", problems);
    let repetitions = repetitions.map_or(1, |written| match written.text.parse() {
        Ok(number) if REPETITIONS.contains(&number) => number,
        _ => {
            problems.add_at(written.line, "repetitions is a number from 1 to 1000");
            1
        }
    });
    let targets = axes::targets(&mut document, problems);
    let kernels = axes::kernels(&mut document, problems);
    let loads = axes::loads(&mut document, problems);
    let options = options::read(&mut document, keys, problems);
    let variants = axes::variants(&mut document, keys, problems);
    let mut plan = Plan {
        name: name.into(),
        text: text.into(),
        about,
        targets,
        kernels,
        loads,
        variants,
        repetitions,
        options,
        limits: Vec::new(),
        allow: None,
        confidence: None,
        accept: Vec::new(),
    };
    limits::read(&mut document, &mut plan, problems);
    document.finish(problems);
    let steps = [plan.targets.len(), plan.kernels.len().max(1), plan.loads.len(), plan.variants.len().max(1)];
    let steps = steps.iter().try_fold(repetitions as usize, |steps, choices| steps.checked_mul(*choices));
    if steps.is_none_or(|steps| steps > STEPS_MAX) {
        problems.add_for_all(format!("it has more than {STEPS_MAX} steps; make several plans of it"));
    }
    plan
}

#[cfg(test)]
mod tests;
