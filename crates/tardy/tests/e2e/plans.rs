//! The plans that ship with tardy and need their own machine, on real kernels.

use crate::exported::Step;
use crate::lab::{KERNEL, Lab, ONE_THREAD, assert_ledgers_add_up, is_function_name};
use archive::culprit::Culprit;
use archive::explanation::{Explanation, ExplanationStatus};
use archive::manifest::RunState;
use archive::reader::Run;
use fixtures::repository::repository_path;

/// Runs a shipped plan into the directory `round`; returns its archives, which must be complete, in the order of the
/// steps, and its output.
fn round(lab: &Lab, plan: &str, duration: &str, code: i32) -> (Vec<Run>, String) {
    let plan = repository_path("plans").join(plan);
    let words = ["run", plan.to_str().unwrap(), "--duration", duration, "--out", "round"];
    let ended = lab.tardy(&words).output().unwrap();
    let said = String::from_utf8_lossy(&ended.stdout).into_owned();
    assert_eq!(ended.status.code(), Some(code), "{said}{}", String::from_utf8_lossy(&ended.stderr));
    let entries = std::fs::read_dir(lab.path("round")).unwrap().map(|entry| entry.unwrap().path());
    let mut archives: Vec<_> = entries.filter(|path| path.is_dir()).collect();
    archives.sort();
    let runs: Vec<Run> = archives.into_iter().map(|path| Run::open(path).unwrap()).collect();
    for run in &runs {
        assert!(run.gaps.is_empty(), "{:?}", run.gaps);
        assert_eq!(run.manifest.as_ref().unwrap().state, RunState::Complete);
        assert!(run.loads.iter().all(|load| load.alive && load.progress > 0), "{:?}", run.loads);
        assert!(run.planned.as_ref().unwrap().text.contains("targets = [\"vm\"]"));
    }
    (runs, said)
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn the_founding_talk_is_run_from_its_plan_and_its_snapshots_are_explained() {
    let lab = Lab::with(KERNEL, ONE_THREAD);
    let (runs, said) = round(&lab, "founding-talk.toml", "8s", 3);
    assert!(said.starts_with("EMULATED MACHINE") && said.contains("NO VERDICT: "), "{said}");
    let [run] = &runs[..] else { panic!("one step: {said}") };
    assert_eq!(run.effective.as_ref().unwrap().tracer.as_deref(), Some("function"));
    assert_eq!(run.environment.as_ref().unwrap().preempt_rt, Some(true));
    assert!(!run.spikes.is_empty() && run.spikes.iter().all(|spike| spike.sample.latency_ns >= 1_000_000));
    let explanations = assert_ledgers_add_up(run);
    assert_the_worst_is_explained(&explanations);
    let accepted = ["judge", "round/01-vm-dentry-8", "--accept", "emulated,virtual", "--json"];
    let judged = lab.tardy(&accepted).output().unwrap();
    let judged: serde_json::Value = serde_json::from_slice(&judged.stdout).unwrap();
    assert_eq!(judged["judgements"][0]["limit"]["text"], "latency < 1ms", "the archive knows its limit: {judged}");
    assert_ne!(judged["judgements"][0]["verdict"], "no_verdict", "{judged}");
    let archive = "round/01-vm-dentry-8";
    Step { lab: &lab, round: "round", archive, run, explanations: &explanations }.assert_exports_are_read();
}

/// The function that ran longest.
fn function_of(explanation: &Explanation) -> Option<&str> {
    let function = explanation.functions.as_ref()?.held.first()?.chain.first()?;
    Some(function.as_str()).filter(|name| is_function_name(name))
}

/// The worst explained spike has a function, unless its CPU was stopped or held by the tool, and some spike has one.
fn assert_the_worst_is_explained(explanations: &[Explanation]) {
    let explained = explanations.iter().filter(|one| one.status == ExplanationStatus::Explained);
    let worst = explained.max_by_key(|one| one.latency_ns);
    let worst = worst.unwrap_or_else(|| panic!("no spike is explained: {explanations:?}"));
    let finding = worst.findings.first().expect("what is explained has a cause");
    let function = function_of(worst);
    eprintln!("spike {}, {} us: {}, {function:?}", worst.spike, worst.latency_ns / 1000, finding.sentence);
    let nobody = matches!(finding.culprit, Culprit::Silence | Culprit::Steal | Culprit::OwnTool);
    assert!(function.is_some() || nobody, "spike {}: {finding:?}", worst.spike);
    assert!(explanations.iter().any(|one| function_of(one).is_some()), "no function is named");
}

#[test]
#[ignore = "boots virtual machines: make e2e"]
fn three_kernels_are_measured_under_a_flood_of_datagrams() {
    let lab = Lab::with(KERNEL, &[]);
    let (runs, said) = round(&lab, "three-kernels.toml", "3s", 0);
    assert!(said.contains("measured 3 steps;"), "{said}");
    let machines: Vec<_> = runs.iter().map(|run| run.environment.as_ref().unwrap()).collect();
    let real_time: Vec<Option<bool>> = machines.iter().map(|machine| machine.preempt_rt).collect();
    assert_eq!(real_time, [Some(false), Some(false), Some(true)]);
    let started_with = |index: usize, word: &str| {
        let line = machines[index].command_line.as_deref().unwrap_or_default();
        assert!(line.split_whitespace().any(|argument| argument == word), "{word:?} is not in {line:?}");
    };
    started_with(0, "preempt=none");
    started_with(1, "preempt=full");
    let kernels: Vec<_> = runs.iter().map(|run| run.planned.clone().unwrap().kernel.unwrap()).collect();
    assert_eq!(kernels, ["no preemption", "preemption", "real-time"]);
}
