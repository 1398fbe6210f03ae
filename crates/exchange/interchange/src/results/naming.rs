//! Names of runs and their cases: the same for the same question every time, and valid in every format.

use archive::planned::PlannedStep;
use archive::summary::RunSummary;
use words::calendar::civil;

/// The text with every sequence of characters other than letters, digits and `-` replaced by one `_`.
pub fn word(text: &str) -> String {
    let mut word = String::new();
    for letter in text.chars() {
        if letter.is_ascii_alphanumeric() || letter == '-' {
            word.push(letter);
        } else if !word.ends_with('_') {
            word.push('_');
        }
    }
    let word = word.trim_matches('_');
    if word.is_empty() { "unnamed".into() } else { word.to_owned() }
}

/// Target and loads, `board3.messaging`; for a step of a plan, the plan and what distinguishes its steps,
/// `nightly.board3.debian_6_1-rt.no_idle_states.messaging`.
pub fn run_name(summary: &RunSummary, planned: Option<&PlannedStep>) -> String {
    let target = planned.map_or(summary.target.as_str(), |step| step.target.as_str());
    let target = if target.is_empty() { "unknown".to_owned() } else { word(target) };
    // Some of these systems store nothing but names and numbers.
    let target = match summary.virtual_time && !target.contains("virtual_time") {
        true => format!("{target}_virtual_time"),
        false => target,
    };
    let Some(step) = planned else {
        let loads = summary.loads.iter().map(|load| word(&load.name)).collect::<Vec<_>>();
        // What ran beside the measurement of another tool is unknown.
        if loads.is_empty() && summary.imported.is_some() {
            return target;
        }
        return format!("{target}.{}", if loads.is_empty() { "idle".to_owned() } else { loads.join("-") });
    };
    let mut parts = vec![word(&step.plan), target];
    parts.extend(
        [step.kernel.as_deref(), step.variant.as_deref(), Some(step.load.as_str())].into_iter().flatten().map(word),
    );
    let repetition = if step.repetition > 1 { format!("-{}", step.repetition) } else { String::new() };
    parts.join(".") + &repetition
}

/// A unique identifier of a run. That of a step of a plan is the same in every round, so its start time is prepended.
pub fn run_identifier(summary: &RunSummary, started_unix_s: u64) -> String {
    let (day, time) = civil(started_unix_s);
    match summary.id.starts_with(&day) || summary.started_unix_ns.is_none() {
        true => summary.id.clone(),
        false => format!("{day}T{}-{}", time.replace(':', "-"), summary.id),
    }
}

/// Makes equal names unique, in order.
pub fn distinct_names(names: &[String]) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let numbered = (2..).map(|number| format!("{name}-{number}"));
        let free = std::iter::once(name.clone()).chain(numbered).find(|one| !taken.contains(one));
        taken.extend(free);
    }
    taken
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::manifest::ImportedFrom;
    use archive::reader::Run;

    #[test]
    fn names_are_safe_everywhere() {
        assert_eq!(word("stress-ng --cpu 2"), "stress-ng_--cpu_2");
        assert_eq!((word("p99.9 lt 50us"), word("\x1b<é>")), ("p99_9_lt_50us".into(), "unnamed".into()));
    }

    #[test]
    fn a_step_is_called_by_what_distinguishes_it_from_the_others_of_its_plan() {
        let mut step = PlannedStep {
            plan: "three kernels".into(),
            text: String::new(),
            step: 2,
            steps: 6,
            target: "vm".into(),
            kernel: Some("debian:6.1-rt".into()),
            load: "dentry:8".into(),
            variant: None,
            repetition: 1,
            limits: Vec::new(),
            confidence_percent: 95.0,
            accept: Vec::new(),
        };
        let summary = RunSummary::of(&Run::default(), &[]);
        assert_eq!(run_name(&summary, Some(&step)), "three_kernels.vm.debian_6_1-rt.dentry_8");
        step.repetition = 3;
        step.variant = Some("no idle".into());
        assert_eq!(run_name(&summary, Some(&step)), "three_kernels.vm.debian_6_1-rt.no_idle.dentry_8-3");
        assert_eq!(run_name(&summary, None), "unknown.idle");
        let imported = RunSummary { imported: Some(ImportedFrom::default()), target: "bench".into(), ..summary };
        assert_eq!(run_name(&imported, None), "bench");
    }

    #[test]
    fn steps_of_two_rounds_have_two_identifiers() {
        let started_unix_ns = Some(1_795_296_605_000_000_000);
        let step = RunSummary { id: "01-vm-dentry-8".into(), started_unix_ns, ..RunSummary::of(&Run::default(), &[]) };
        assert_eq!(run_identifier(&step, 1_795_296_605), "2026-11-21T21-30-05-01-vm-dentry-8");
        let run = RunSummary { id: "2026-11-21T21-30-05-pi".into(), ..step };
        assert_eq!(run_identifier(&run, 1_795_296_605), run.id);
    }

    #[test]
    fn a_name_that_was_numbered_meets_no_other() {
        let names = ["a", "a-2", "a", "a"].map(str::to_owned);
        assert_eq!(distinct_names(&names), ["a", "a-2", "a-3", "a-4"]);
    }
}
