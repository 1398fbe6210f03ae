//! Valid and invalid plans.

use super::options::{Key, Kind, Place};
use super::*;
use proptest::prelude::*;

const WHOLE: &str = r#"
about = "Everything a plan may say"
targets = ["local", "vm"]
repetitions = 2
loads = ["none", "messaging + cpu:2", { name = "build", command = "make -j4" }]

[measurement]
interval = "250us"
lock_memory = false
priority = 90

[trace]
functions = ["ext4_*", ":mod:x"]
tracer = "function"

[set]
"kernel.sched_rt_runtime_us" = -1

[[variants]]
name = "plain"

[[variants]]
name = "held"
measurement = { cpu_dma_latency = "0us", lock_memory = true }
set = { "kernel.sched_rt_runtime_us" = 950000 }

[[limits]]
limit = "latency < 100us"
allow = "1/day"
target = "local"
load = ["none", "build"]

[[limits]]
limit = "missed < 1/h"

[verdict]
confidence = 99.5
accept = ["virtual"]
"#;

/// Some options of a run, and one that a plan cannot have.
fn keys() -> Keys {
    let key = |place, kind| move |name| Key { place, name, kind };
    let texts = ["interval", "priority", "cpu_dma_latency"].map(key(Place::Measurement, Kind::Text));
    let others = [
        key(Place::Measurement, Kind::Flag)("lock_memory"),
        key(Place::Trace, Kind::Text)("tracer"),
        key(Place::Trace, Kind::List)("functions"),
    ];
    Keys {
        known: texts.into_iter().chain(others).collect(),
        refused: vec![("limit".into(), "[[limits]] has the limits")],
    }
}

fn lines(step: &step::Step) -> Vec<String> {
    step.options.iter().map(PlanOption::to_string).collect()
}

fn problems(text: &str) -> Vec<String> {
    let reported = |problem: Problem| format!("{}: {}", problem.line.unwrap_or(0), problem.text);
    Plan::read("x", text, &keys()).1.into_iter().map(reported).collect()
}

fn sound(text: &str) -> Plan {
    let (plan, found) = Plan::read("x", text, &keys());
    assert_eq!(found, []);
    plan.unwrap()
}

#[test]
fn a_matrix_has_a_step_for_every_combination() {
    let plan = sound(WHOLE);
    let steps = plan.steps();
    assert_eq!(steps.len(), 2 * 2 * 3 * 2);
    assert!(steps.iter().enumerate().all(|(index, step)| step.number == index as u32 + 1 && step.steps == 24));
    assert!(steps[0].title().starts_with("local, plain, ") && steps[0].title().ends_with(", 1 of 2"));
    assert_eq!(steps[23].title(), "vm, held, build, 2 of 2");
    assert_eq!(steps[12].repetition, 2, "a repetition is whole before the next begins");
    assert_eq!(steps[1].directory(1), "02-local-plain-messaging-cpu-2-1-of-2");
    assert_eq!(steps[1].directory(3), "02-local-plain-messaging-cpu-2-1-of-2.3");
    let names: std::collections::BTreeSet<String> = steps.iter().map(|step| step.directory(1)).collect();
    assert_eq!(names.len(), 24);
}

#[test]
fn a_variant_replaces_values_of_the_plan() {
    let steps = sound(WHOLE).steps();
    let plain = lines(&steps[0]);
    let common = ["interval = 250us", "priority = 90", "tracer = function", "functions = [ext4_*, :mod:x]"];
    assert!(common.iter().all(|line| plain.iter().any(|own| own == line)), "{plain:?}");
    let own = ["lock_memory = false", "kernel.sched_rt_runtime_us = -1"];
    assert!(plain.len() == 6 && own.iter().all(|line| plain.iter().any(|known| known == line)), "{plain:?}");
    let held = lines(&steps[3]);
    let own = ["lock_memory = true", "cpu_dma_latency = 0us", "kernel.sched_rt_runtime_us = 950000"];
    assert!(common.iter().chain(&own).all(|line| held.iter().any(|known| known == line)), "{held:?}");
    assert_eq!(held.len(), common.len() + own.len());
    let texts = |list: &[Written]| list.iter().map(|written| written.text.clone()).collect::<Vec<_>>();
    assert!(steps[0].load.is_nothing());
    assert_eq!(texts(&steps[1].load.builtin), ["messaging", "cpu:2"]);
    assert_eq!((texts(&steps[2].load.commands), steps[2].load.line), (vec!["make -j4".to_owned()], 5));
}

#[test]
fn limits_are_for_the_steps_they_name() {
    let plan = sound(WHOLE);
    let steps = plan.steps();
    let limits = |number: usize| steps[number].limits.iter().map(|limit| limit.limit.text.as_str()).collect::<Vec<_>>();
    assert_eq!(limits(0), ["latency < 100us", "missed < 1/h"]);
    assert_eq!(limits(1), ["missed < 1/h"], "messaging is not among its loads");
    assert_eq!(limits(6), ["missed < 1/h"], "vm is not its target");
    assert_eq!(plan.confidence.unwrap(), Written { text: "99.5".into(), line: 37 });
}

#[test]
fn kernels_may_be_texts_or_tables() {
    let text =
        "targets = [\"vm\"]\nkernels = [\"debian:6.1\", { kernel = \"debian:6.1\", arguments = \"preempt=none\" }]";
    let steps = sound(text).steps();
    assert_eq!(steps[1].title(), "vm, debian:6.1 preempt=none, no load");
    assert_eq!(steps[1].kernel.as_ref().unwrap().arguments, "preempt=none");
}

#[test]
fn an_empty_plan_is_one_run_of_this_machine() {
    let steps = sound("").steps();
    assert_eq!((steps.len(), steps[0].title().as_str()), (1, "local, no load"));
    assert_eq!(steps[0].directory(1), "01-local-no-load");
}

#[test]
fn every_mistake_is_reported_with_its_line() {
    let reported = problems(
        "target = [\"vm\"]\nrepetitions = 0\nloads = [\"none\", 7, \"none\", {}]\n[measurement]\nintervall = \"1ms\"\n\
         lock_memory = \"no\"\n[mesurement]\n[[variants]]\npriority = 1\n[[limits]]\nload = \"messagin\"\n[verdict]\nmax = 3\n",
    );
    let expected = [
        "1: `target` is not a key of a plan; did you mean `targets`?",
        "2: repetitions is a number from 1 to 1000",
        "3: a number is not a load; write a text or a table",
        "3: a load needs `run`",
        "3: there are two loads called `none`",
        "5: `intervall` is not a key of [measurement]; did you mean `interval`?",
        "6: lock_memory is either true or false",
        "7: `mesurement` is not a key of a plan; did you mean `measurement`?",
        "8: a variant needs a `name`",
        "9: `priority` is not a key of [[variants]]; its keys are",
        "10: a limit needs `limit`",
        "11: `messagin` is not a load of this plan",
        "13: `max` is not a key of [verdict]; its keys are allow, confidence, accept",
    ];
    for sentence in expected {
        assert!(reported.iter().any(|text| text.starts_with(sentence)), "{sentence:?} is not in {reported:#?}");
    }
}

#[test]
fn an_option_that_is_no_key_here_is_refused_with_the_reason() {
    let reported = problems("[measurement]\nlimit = \"1ms\"\ntracer = \"function\"\n[trace]\ninterval = \"1ms\"\n");
    let expected = [
        "2: `limit` is not a key of [measurement]; [[limits]] has the limits",
        "3: `tracer` is not a key of [measurement]; it belongs to [trace]",
        "5: `interval` is not a key of [trace]; it belongs to [measurement]",
    ];
    assert_eq!(reported, expected);
}

#[test]
fn a_matrix_that_explodes_is_refused() {
    let many: Vec<String> = (0..100).map(|number| format!("\"l{number}\"")).collect();
    let text = format!("loads = [{}]\nrepetitions = 1000", many.join(","));
    let [problem] = &problems(&text)[..] else { panic!("one problem") };
    assert!(problem.starts_with("0: ") && problem.contains(" 10000 steps;"), "{problem}");
}

proptest! {
    #[test]
    fn any_text_is_a_plan_or_a_list_of_problems(text in r#"([a-z\[\]{}="',.0-9 \n]|targets|loads|limits|kernels|variants|measurement|trace|set){0,80}"#) {
        let (plan, found) = Plan::read("x", &text, &keys());
        prop_assert!(!found.is_empty() || plan.is_some_and(|plan| !plan.steps().is_empty()));
    }
}
