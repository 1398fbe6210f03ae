//! Entries for fuzz targets: parsers of plans and of an experiment's variants.

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
