//! Plans: what to measure, on what, beside what, how long, and what must hold, as a TOML file. A plan expands into
//! [`step::Step`]s, each of which is one run.
//!
//! Each key is known by its name and kind; `tardy` reads its value as that of the option of `tardy run`, and the limits as
//! `tardy judge` does. `docs/how-to/plans.md` describes the file.

mod axes;
pub mod document;
mod limits;
mod nearest;
pub mod options;
pub mod schedule;
pub mod step;

pub use axes::{KernelChoice, LoadChoice, Variant};
pub use limits::PlanLimit;

use document::{Problem, Problems, Section, Written, parse};
use options::PlanOption;
use std::path::Path;

/// A plan may not grow beyond this many steps: a slip in a matrix is no reason to measure for years.
const STEPS_MAX: usize = 10_000;
/// How often everything may be repeated.
const REPETITIONS: std::ops::RangeInclusive<u32> = 1..=1000;

/// What a file of a plan says.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// That of the file, without its ending.
    pub name: String,
    /// The whole file.
    pub text: String,
    /// One sentence.
    pub about: String,
    pub targets: Vec<String>,
    /// Empty: the one that each target has.
    pub kernels: Vec<KernelChoice>,
    /// Never empty.
    pub loads: Vec<LoadChoice>,
    /// Empty: everything is as the plan says.
    pub variants: Vec<Variant>,
    pub repetitions: u32,
    /// How every step measures, except where its variant replaces a value.
    pub options: Vec<PlanOption>,
    pub limits: Vec<PlanLimit>,
    /// How often a limit may be broken where it does not say so itself.
    pub allow: Option<Written>,
    /// In percent.
    pub confidence: Option<Written>,
    /// Doubts about the machine that do not keep it from passing.
    pub accept: Vec<Written>,
}

impl Plan {
    /// Reads the text of a plan file: what could be understood, unless it is no TOML, and everything that is wrong with
    /// it, by line.
    pub fn read(name: &str, text: &str) -> (Option<Self>, Vec<Problem>) {
        let mut problems = Problems::of(text);
        let table = parse(text, &mut problems);
        let plan = table.as_ref().map(|table| {
            let document = Section::new("", table.get_ref(), table.span());
            read(name, text, document, &mut problems)
        });
        (plan, problems.into_found())
    }

    /// The name of a plan: that of its file, without the ending.
    pub fn name_of(path: &Path) -> String {
        path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }
}

fn read(name: &str, text: &str, mut document: Section, problems: &mut Problems) -> Plan {
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
    let mut options = Vec::new();
    axes::measured_options(&mut document, &mut options, problems);
    let variants = axes::variants(&mut document, problems);
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
