//! The limits of a plan: their steps and their confidence. The values are passed on unparsed.

use super::Plan;
use super::document::{Problems, Section, Written};
use archive::nearest::nearest;
use archive::roles::RunRole;
use toml::de::DeValue;

/// A limit and its steps.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanLimit {
    /// Such as `latency < 100us`.
    pub limit: Written,
    /// How often it may be broken; `None` for the plan's default.
    pub allow: Option<Written>,
    /// Names to which it applies; empty for all.
    pub targets: Vec<String>,
    pub kernels: Vec<String>,
    pub loads: Vec<String>,
    pub variants: Vec<String>,
    /// Whose figures it limits, where the stimuli come from another machine.
    pub roles: Vec<RunRole>,
}

/// Parses `[[limits]]` and `[verdict]` into a plan whose axes are known.
pub fn read(document: &mut Section, plan: &mut Plan, problems: &mut Problems) {
    for entry in document.entries("limits", problems).unwrap_or_default() {
        let DeValue::Table(table) = entry.get_ref() else {
            problems.add(&entry.span(), "a limit is a table; write [[limits]] with `limit = \"latency < 100us\"`");
            continue;
        };
        let limit = limit(Section::new("[limits]", table, entry.span()), plan, problems);
        plan.limits.extend(limit);
    }
    if let Some(mut section) = document.section("verdict", problems) {
        plan.allow = section.scalar("allow", problems);
        plan.confidence = section.scalar("confidence", problems);
        plan.accept = section.list("accept", problems).unwrap_or_default();
        section.finish(problems);
    }
}

fn limit(mut section: Section, plan: &Plan, problems: &mut Problems) -> Option<PlanLimit> {
    let text = section.scalar("limit", problems);
    let allow = section.scalar("allow", problems);
    let kernels: Vec<&str> = plan.kernels.iter().map(|kernel| kernel.name.as_str()).collect();
    let loads: Vec<&str> = plan.loads.iter().map(|load| load.name.as_str()).collect();
    let variants: Vec<&str> = plan.variants.iter().map(|variant| variant.name.as_str()).collect();
    let targets: Vec<&str> = plan.targets.iter().map(String::as_str).collect();
    let mut names = |key, known: &[&str]| {
        let list = section.list(key, problems).unwrap_or_default();
        for written in list.iter().filter(|written| !known.contains(&written.text.as_str())) {
            let fix = match nearest(&written.text, known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None if known.is_empty() => "it names none".into(),
                None => format!("they are {}", known.join(", ")),
            };
            problems.add_at(written.line, format!("`{}` is not a {key} of this plan; {fix}", written.text));
        }
        list.into_iter().map(|written| written.text).collect::<Vec<String>>()
    };
    let (targets, kernels) = (names("target", &targets), names("kernel", &kernels));
    let (loads, variants) = (names("load", &loads), names("variant", &variants));
    let roles = roles(&mut section, problems);
    let span = section.span().clone();
    section.finish(problems);
    match text {
        Some(limit) => Some(PlanLimit { limit, allow, targets, kernels, loads, variants, roles }),
        None => {
            problems.add(&span, "a limit needs `limit`, like \"latency < 100us\"");
            None
        }
    }
}

fn roles(section: &mut Section, problems: &mut Problems) -> Vec<RunRole> {
    let mut roles = Vec::new();
    for written in section.list("role", problems).unwrap_or_default() {
        match [RunRole::Target, RunRole::Stimulus].into_iter().find(|role| role.to_string() == written.text) {
            Some(role) => roles.push(role),
            None => problems.add_at(written.line, format!("role: `{}` is neither target nor stimulus", written.text)),
        }
    }
    roles
}
