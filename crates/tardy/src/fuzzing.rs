//! Entries for fuzz targets: parsers of plans, of an experiment's variants, and of an agent's messages.

use crate::mcp::{Line, message, next_line};
use crate::measuring::variant::Variant;
use crate::plans::checked::{CheckedPlan, Overrides, PlanHost};
use archive::settings::RunSettings;

pub use crate::measuring::arguments::planned::keys;

/// The settings of each step of a plan, or each problem as a line and a text.
///
/// # Errors
/// The problems of the plan.
pub fn checked_plan(text: &str) -> Result<Vec<RunSettings>, Vec<(Option<usize>, String)>> {
    let plan = CheckedPlan::read("fuzzed", text, &Overrides::default(), PlanHost::Other);
    plan.map(|plan| plan.steps.into_iter().map(|step| step.settings).collect())
        .map_err(|problems| problems.into_iter().map(|problem| (problem.line, problem.text)).collect())
}

/// The settings of a variant with these options.
///
/// # Errors
/// Reason why the options are refused.
pub fn variant(options: &str) -> Result<RunSettings, String> {
    Variant::parse(options, &[], None).map(|(variant, _)| variant.settings).map_err(|why| why.to_string())
}

/// The replies to the lines of an agent that are no messages, each one line, and the number of all lines.
pub fn agent_lines(input: &[u8]) -> (usize, Vec<String>) {
    let mut reader = input;
    let lines: Vec<Line> = std::iter::from_fn(|| next_line(&mut reader).ok().flatten()).collect();
    let fault = |line: &Line| match line {
        Line::Message(text) => message(text).err().map(|fault| fault.reply().to_string()),
        Line::TooLong => None,
    };
    (lines.len(), lines.iter().filter_map(fault).collect())
}
