//! A plan as a page of text, and as a document.

use crate::options::limits::described;
use crate::plans::checked::{CheckedPlan, CheckedStep};
use crate::plans::length::too_short;
use crate::terminal::page::Page;
use crate::terminal::table::{Align, Table};
use runner::plan::PlanLimit;
use runner::plan::options::PlanOption;
use serde_json::{Value, json};
use words::figures::{counted, duration};

/// The extent of a plan: `6 steps, 3 h of measuring`.
pub fn extent(plan: &CheckedPlan) -> String {
    let steps = counted(plan.steps.len() as u64, "step");
    match plan.duration_ns() {
        Some(ns) => format!("{steps}, {} of measuring", planned_time(ns)),
        None => format!("{steps}, one of them without an end"),
    }
}

fn planned_time(ns: u64) -> String {
    duration(i64::try_from(ns).unwrap_or(i64::MAX))
}

pub fn lay_out(plan: &CheckedPlan, mut page: Page) -> Page {
    page.heading(&plan.plan.name);
    if !plan.plan.about.is_empty() {
        page.wrapped("", &plan.plan.about);
    }
    page.blank();
    let (kernels, variants) = (!plan.plan.kernels.is_empty(), !plan.plan.variants.is_empty());
    let repeated = plan.plan.repetitions > 1;
    let chosen = |cells: [(bool, String); 7]| {
        cells.into_iter().filter(|(shown, _)| *shown).map(|(_, cell)| cell).collect::<Vec<String>>()
    };
    let row = |cells: [String; 7]| {
        let [number, target, kernel, variant, load, repetition, time] = cells;
        chosen([
            (true, number),
            (true, target),
            (kernels, kernel),
            (variants, variant),
            (true, load),
            (repeated, repetition),
            (true, time),
        ])
    };
    let heads = row(["step", "target", "kernel", "variant", "load", "round", "for"].map(str::to_owned));
    let mut aligned = vec![Align::Left; heads.len()];
    aligned[0] = Align::Right;
    let mut table = Table::new(&aligned);
    table.row(&heads);
    for checked in &plan.steps {
        let step = &checked.step;
        table.row(row([
            step.number.to_string(),
            step.target.clone(),
            step.kernel.as_ref().map_or("-".into(), |kernel| kernel.name.clone()),
            step.variant.clone().unwrap_or_default(),
            step.load.name.clone(),
            step.repetition.to_string(),
            checked.duration_ns().map_or("until stopped".into(), planned_time),
        ]));
    }
    page.headed_table(&table);
    page.blank();
    page.wrapped("", &format!("{}.", extent(plan)));
    if !plan.plan.options.is_empty() {
        page.wrapped("Each run: ", &lines_of(&plan.plan.options));
    }
    for variant in &plan.plan.variants {
        let options = if variant.options.is_empty() { "as the plan".into() } else { lines_of(&variant.options) };
        page.wrapped(&format!("Variant {}: ", variant.name), &options);
    }
    lay_out_limits(plan, &mut page);
    page
}

fn lines_of(options: &[PlanOption]) -> String {
    options.iter().map(PlanOption::to_string).collect::<Vec<_>>().join(", ")
}

fn lay_out_limits(plan: &CheckedPlan, page: &mut Page) {
    if plan.plan.limits.is_empty() {
        page.wrapped("", "The plan has no [[limits]], so no step can pass.");
        return;
    }
    page.heading("Limits");
    for limit in &plan.plan.limits {
        let mut read = plan.steps.iter().flat_map(CheckedStep::limits_as_read);
        if let Some((_, read)) = read.find(|(written, _)| *written == limit) {
            page.wrapped("  ", &format!("{}{}", described(read), where_(limit)));
        }
    }
    page.wrapped("  ", &format!("at {} % confidence", plan.confidence * 100.0));
    too_short(plan).iter().for_each(|limit| page.wrapped("  ", &limit.to_string()));
    if !plan.accepted.is_empty() {
        let words: Vec<&str> = plan.accepted.iter().map(|kind| kind.word()).collect();
        page.wrapped("  ", &format!("also on a machine that is {}", words.join(" or ")));
    }
}

fn where_(limit: &PlanLimit) -> String {
    let axes = [("on", &limit.targets), ("with", &limit.kernels), ("with load", &limit.loads), ("in", &limit.variants)];
    let named = axes.iter().filter(|(_, names)| !names.is_empty());
    let roles = limit.roles.iter().map(|role| format!("of the {role} machine"));
    let parts: Vec<String> = named.map(|(word, names)| format!("{word} {}", names.join(", "))).chain(roles).collect();
    if parts.is_empty() { String::new() } else { format!(" ({})", parts.join("; ")) }
}

/// The plan as one JSON document.
pub fn document(plan: &CheckedPlan) -> Value {
    let step = |checked: &CheckedStep| {
        json!({
            "step": checked.step.number, "title": checked.step.title(), "target": checked.step.target,
            "kernel": checked.planned.kernel, "load": checked.step.load.name, "variant": checked.step.variant,
            "repetition": checked.step.repetition, "settings": checked.settings, "limits": checked.planned.limits,
            "stimulus": checked.stimulus.as_ref().map(|other| {
                json!({ "target": other.machine, "settings": other.settings, "limits": other.planned.limits })
            }),
        })
    };
    json!({
        "plan": plan.plan.name, "about": plan.plan.about, "measured_ns": plan.duration_ns(),
        "confidence": plan.confidence, "steps": plan.steps.iter().map(step).collect::<Vec<_>>(),
    })
}
