//! Files of one crate use each other in one direction. A module and its own parts may name each other.

mod modules;
mod paths;

use crate::repository::{of_crate, packages};
use modules::Modules;
use std::collections::{BTreeMap, BTreeSet};

type Arrow = (&'static str, &'static str);

/// Arrows that close a circle and are still to be turned.
const KNOWN: [(&str, &str); 41] = [
    ("crates/core/archive/src/audit.rs", "crates/core/archive/src/message.rs"),
    ("crates/core/archive/src/audit.rs", "crates/core/archive/src/settings.rs"),
    ("crates/core/archive/src/damage.rs", "crates/core/archive/src/reader.rs"),
    ("crates/core/archive/src/functions.rs", "crates/core/archive/src/explanation.rs"),
    ("crates/core/archive/src/layout.rs", "crates/core/archive/src/message.rs"),
    ("crates/core/archive/src/method/busy_thread.rs", "crates/core/archive/src/settings.rs"),
    ("crates/core/archive/src/recorded_pages.rs", "crates/core/archive/src/message.rs"),
    ("crates/core/archive/src/roles.rs", "crates/core/archive/src/reader.rs"),
    ("crates/core/archive/src/tracer.rs", "crates/core/archive/src/settings.rs"),
    ("crates/core/archive/src/watched.rs", "crates/core/archive/src/settings.rs"),
    ("crates/core/explain/src/account/steal_clock.rs", "crates/core/explain/src/account/steal_count.rs"),
    ("crates/core/judge/src/experiment/metric.rs", "crates/core/judge/src/experiment/round.rs"),
    ("crates/core/storage/src/account.rs", "crates/core/storage/src/bios.rs"),
    ("crates/exchange/interchange/src/exports/error.rs", "crates/exchange/interchange/src/exports/execution_map.rs"),
    ("crates/lab/publication/src/rules.rs", "crates/lab/publication/src/text.rs"),
    ("crates/lab/server/src/api/hooks.rs", "crates/lab/server/src/guard.rs"),
    ("crates/lab/server/src/data.rs", "crates/lab/server/src/site.rs"),
    ("crates/lab/server/src/experiments.rs", "crates/lab/server/src/site.rs"),
    ("crates/lab/server/src/follow.rs", "crates/lab/server/src/site.rs"),
    ("crates/lab/server/src/guard.rs", "crates/lab/server/src/pages.rs"),
    ("crates/lab/server/src/live.rs", "crates/lab/server/src/site.rs"),
    ("crates/lab/server/src/pages/run.rs", "crates/lab/server/src/site.rs"),
    ("crates/lab/store/src/actions.rs", "crates/lab/store/src/queue.rs"),
    ("crates/lab/store/src/error.rs", "crates/lab/store/src/receiving.rs"),
    ("crates/lab/store/src/objects.rs", "crates/lab/store/src/packing.rs"),
    ("crates/lab/store/src/objects.rs", "crates/lab/store/src/receiving.rs"),
    ("crates/lab/store/src/queue/backfill.rs", "crates/lab/store/src/queue/triggers.rs"),
    ("crates/measure/load/src/problem.rs", "crates/measure/load/src/program.rs"),
    ("crates/measure/meter/src/environment/config.rs", "crates/measure/meter/src/environment/debug_options.rs"),
    ("crates/measure/meter/src/methods/stimulus/exchange.rs", "crates/measure/meter/src/methods/stimulus/giving.rs"),
    ("crates/measure/meter/src/trace/flip.rs", "crates/measure/meter/src/trace/snapshotter.rs"),
    ("crates/measure/meter/src/trace/snapshotter.rs", "crates/measure/meter/src/trace/both_buffers.rs"),
    ("crates/measure/meter/src/trace/snapshotter.rs", "crates/measure/meter/src/trace/kernel_swap.rs"),
    ("crates/program/audit/src/report.rs", "crates/program/audit/src/rules.rs"),
    ("crates/program/interception/src/process/calls.rs", "crates/program/interception/src/process/entry.rs"),
    ("crates/program/interception/src/process/thread.rs", "crates/program/interception/src/process/entry.rs"),
    ("crates/tardy/src/exit.rs", "crates/tardy/src/refusal.rs"),
    ("crates/tardy/src/plans/round/outcome.rs", "crates/tardy/src/plans/round/role_outcome.rs"),
    ("crates/targets/readiness/src/accepted.rs", "crates/targets/readiness/src/answer.rs"),
    ("crates/targets/readiness/src/machine.rs", "crates/targets/readiness/src/rule.rs"),
    ("crates/targets/runner/src/plan/limits.rs", "crates/targets/runner/src/plan/step.rs"),
];

/// The files that reach each other, in groups.
fn circles(arrows: &BTreeSet<Arrow>) -> Vec<BTreeSet<&'static str>> {
    let files: BTreeSet<&str> = arrows.iter().flat_map(|(user, used)| [*user, *used]).collect();
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        files.iter().map(|file| (*file, reached_from(file, arrows))).collect();
    let circle = |file: &&'static str| {
        let mutual = reached[file].iter().filter(|other| reached[*other].contains(file)).copied();
        Some(mutual.collect::<BTreeSet<&str>>()).filter(|mutual| !mutual.is_empty())
    };
    let found: BTreeSet<BTreeSet<&str>> = files.iter().filter_map(circle).collect();
    found.into_iter().collect()
}

/// The files that lie on paths of arrows from this one.
fn reached_from(file: &'static str, arrows: &BTreeSet<Arrow>) -> BTreeSet<&'static str> {
    let mut found = BTreeSet::new();
    let mut open = vec![file];
    while let Some(user) = open.pop() {
        let used = arrows.range((user, "")..).take_while(|(other, _)| *other == user).map(|(_, used)| *used);
        open.extend(used.filter(|used| found.insert(*used)));
    }
    found
}

#[test]
fn files_of_a_crate_use_each_other_in_one_direction() {
    let mut wrong = Vec::new();
    for package in packages("Cargo.toml") {
        let folder = of_crate(package["name"].as_str().unwrap());
        let mut arrows = Modules::of(&folder).arrows();
        arrows.retain(|arrow| !KNOWN.contains(arrow));
        for circle in circles(&arrows) {
            let inside = arrows.iter().filter(|(user, used)| circle.contains(user) && circle.contains(used));
            let inside: Vec<String> = inside.map(|(user, used)| format!("{user} -> {used}")).collect();
            wrong.push(format!("{folder}: {} files\n    {}", circle.len(), inside.join("\n    ")));
        }
    }
    crate::repository::assert_none("these files use each other in a circle", wrong);
}
