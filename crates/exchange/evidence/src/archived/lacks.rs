//! The events that a recording lacks, and the options that would record them.

use crate::clock::Clock;
use crate::problem::{Lack, RecordingProblem};
use crate::request::Choice;
use crate::survey::Survey;
use ftrace::trace_dat::PagedTrace;

/// Everything that is unknown.
pub fn of(file: &PagedTrace<'_>, survey: &Survey, choice: &Choice) -> Vec<Lack> {
    let mut lacks = Vec::new();
    lacks.extend(match choice {
        Choice::Named => Some(Lack::OtherThreads("those that were named".into())),
        Choice::Marked(name) => Some(Lack::OtherThreads(format!("{name}, which marked a late wake-up"))),
        Choice::RealTime => Some(Lack::OtherThreads("the real-time ones".into())),
    });
    if !has_interrupts(survey) {
        lacks.push(Lack::Interrupts);
    }
    if !survey.has("irq", "softirq_entry") {
        lacks.push(Lack::Softirqs);
    }
    if !survey.has("timer", "hrtimer_start") {
        lacks.push(Lack::Timers);
    } else if matches!(survey.clock, Clock::Unrelated) {
        lacks.push(Lack::ClockOffset { clock: file.metadata.clock.clone() });
    }
    lacks
}

/// The options that would have shown more.
pub fn advice(survey: &Survey, tool: &str) -> Option<RecordingProblem> {
    let mut options = Vec::new();
    if !matches!(survey.clock, Clock::Monotonic) {
        options.push("-C mono");
    }
    let x86 = survey.architecture.is_empty() || survey.architecture.starts_with("x86");
    let (vectors, vectors_option) = if x86 { ("irq_vectors", "-e irq_vectors") } else { ("ipi", "-e ipi") };
    let timers = survey.has("timer", "hrtimer_start") && survey.has("timer", "hrtimer_expire_entry");
    let groups = [
        (survey.has("sched", "sched_waking"), "-e sched"),
        (survey.has("irq", "irq_handler_entry") && survey.has("irq", "softirq_entry"), "-e irq"),
        (survey.has_system(vectors), vectors_option),
        (timers, "-e timer"),
    ];
    options.extend(groups.into_iter().filter(|(recorded, _)| !recorded).map(|(_, option)| option));
    (!options.is_empty()).then(|| RecordingProblem::WouldShowMore(command(tool, &options)))
}

/// The recorder with these options of trace-cmd, or their like.
fn command(tool: &str, options: &[&str]) -> String {
    if tool != "perf" {
        return format!("`trace-cmd record {}`", options.join(" "));
    }
    let of_perf = options.iter().map(|option| match option.strip_prefix("-e ") {
        Some("irq_vectors") => "-e 'irq_vectors:*_entry' -e 'irq_vectors:*_exit'".to_owned(),
        Some(system) => format!("-e '{system}:*'"),
        None => "-k CLOCK_MONOTONIC".to_owned(),
    });
    format!("`perf record -a {}`", of_perf.collect::<Vec<_>>().join(" "))
}

fn has_interrupts(survey: &Survey) -> bool {
    survey.has_system("irq_vectors") || survey.has("irq", "irq_handler_entry")
}
