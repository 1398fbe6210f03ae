//! The sentences about a run, the same on the terminal and on the page.

use crate::kernel_tracers::{latency_trace, uncovered};
use crate::watched;
use archive::culprit::Culprit;
use archive::explanation::{Explanation, ExplanationStatus, OwnerKind};
use archive::manifest::{ImportedFrom, RunState};
use archive::message::Problem;
use archive::method::MethodOptions;
use archive::problem::{Code, Remark};
use archive::summary::{RunSummary, VirtualSpeed};
use words::figures::{count, counted, duration, latency};
use words::vocabulary::{self, confidence_phrase};

/// How many of the late spikes threads of this tool other than the measuring ones delayed, and how long at most; `None`
/// without a traced one. A thread that the timer interrupt only found on the CPU is counted apart: like any other task it is
/// interrupted, and a hypervisor may have stopped the CPU meanwhile.
pub fn own_share(summary: &RunSummary) -> Option<String> {
    let traced: Vec<&Explanation> = summary
        .late_spikes()
        .filter_map(|entry| entry.explanation.as_ref())
        .filter(|explanation| explanation.status != ExplanationStatus::NoTrace)
        .collect();
    let delayed_ns = |explanation: &Explanation| {
        let own = explanation.findings.iter().filter(|finding| finding.culprit == Culprit::OwnTool);
        own.map(|finding| finding.ns).max()
    };
    let had_cpu = |explanation: &Explanation| {
        let mut owners = explanation.phases.iter().flat_map(|phase| &phase.owners);
        owners.any(|owner| owner.kind == OwnerKind::Tool)
    };
    let delayed: Vec<i64> = traced.iter().filter_map(|explanation| delayed_ns(explanation)).collect();
    let found = traced.iter().filter(|explanation| delayed_ns(explanation).is_none() && had_cpu(explanation)).count();
    let longest = delayed.iter().max().map(|ns| format!(", by at most {}", latency(*ns))).unwrap_or_default();
    let found = match found {
        0 => String::new(),
        found => format!("; in {found} more, the timer interrupt came while one of them ran"),
    };
    let spikes = counted(traced.len() as u64, &format!("{} spike", vocabulary::sample(summary).late));
    (!traced.is_empty()).then(|| format!("tardy's own threads delayed {} of {spikes}{longest}{found}.", delayed.len()))
}

/// Speed of a machine in virtual time.
pub fn virtual_speed_words(speed: VirtualSpeed) -> String {
    let seconds = |ns: i64| ns as f64 / 1e9;
    format!(
        "{:.1} s of virtual time took {:.1} s of the host, booting included: {:.2} guest seconds a second. Idle time is \
         skipped, not waited for.",
        seconds(speed.guest_ns),
        seconds(speed.host_ns),
        speed.guest_per_host()
    )
}

/// The run in one or two sentences.
pub fn verdict(summary: &RunSummary) -> String {
    let cycles = summary.cpus.iter().map(|cpu| cpu.cycles).fold(0, u64::saturating_add);
    let mut text = match summary.state {
        RunState::Failed => "The run failed. ".to_owned(),
        RunState::Interrupted => "Stopped early. ".to_owned(),
        RunState::Running if summary.goes_on => "The run is still active. ".to_owned(),
        RunState::Running => "The run was cut off. ".to_owned(),
        RunState::Complete => String::new(),
    };
    if let Some(imported) = &summary.imported {
        let how =
            if watched::is_recording(summary) || !summary.latency_traces.is_empty() { "recorded" } else { "measured" };
        text.push_str(&format!("Imported from {}: {how} by {}. ", imported.file_name, measured_by(imported)));
    }
    let Some(worst_ns) = summary.all_cpus.max.filter(|_| cycles > 0) else {
        if let (Some(_), Some(stretch)) = (&summary.imported, summary.latency_traces.first()) {
            text.push_str(&format!("The longest stretch of {}: {}.", stretch.tracer, latency_trace(stretch)));
            return text;
        }
        text.push_str(if summary.spikes.is_empty() { "Nothing was measured." } else { "No totals were saved." });
        return text;
    };
    if watched::is_watch(summary) {
        text.push_str(&watched::verdict(summary));
        push_judgement(summary, &mut text);
        return text;
    }
    let worst_cpu = summary.worst().map_or(0, |(cpu, _)| cpu.cpu);
    let within = summary.measured_ns.map_or(String::new(), |ns| format!(" in {}", duration(ns)));
    let (threads, samples, worst) = (summary.cpus.len() as u64, count(cycles), vocabulary::maximum(summary, worst_ns));
    let of_machine = summary.other_machine().map(|machine| format!(" of {machine}")).unwrap_or_default();
    let method = summary.settings.as_ref().map(|settings| settings.method.clone()).unwrap_or_default();
    let ((from, to), word) = (method.path(), method.sample());
    let measured = vocabulary::sample(summary);
    text.push_str(&match &method.options {
        MethodOptions::Timer(_) if !measured.is_wake_up() => format!(
            "{samples} {} on {}{of_machine}{within}; the {} took {worst}, on CPU {worst_cpu}.",
            measured.for_count(cycles),
            counted(threads, "CPU"),
            measured.worst,
        ),
        MethodOptions::Timer(_) => format!(
            "{}{of_machine} woke up {samples} times{within}; the worst wake-up was {worst} late, on CPU {worst_cpu}.",
            counted(threads, "CPU")
        ),
        _ => format!(
            "{samples} {} by the method {} in {}{of_machine}{within}; the {} took {worst}, on CPU {worst_cpu}. From: {from}. \
             To: {to}.",
            word.for_count(cycles),
            method.name(),
            counted(threads, "thread"),
            word.worst,
        ),
    });
    push_judgement(summary, &mut text);
    text
}

/// The figures of all samples in one sentence, with the quantiles that the number of samples resolves; `None` without samples.
pub fn figures(summary: &RunSummary) -> Option<String> {
    let all = &summary.all_cpus;
    let samples = summary.headline_samples();
    let resolved = |per: u64, ns: Option<i64>| ns.filter(|_| samples >= per);
    let max = all.max?;
    let named = [("p50", resolved(2, all.p50)), ("p99", resolved(100, all.p99)), ("p99.9", resolved(1000, all.p99_9))];
    let known = named.into_iter().filter_map(|(name, ns)| Some(format!("{name} {}, ", latency(ns?))));
    let add = |sum: u64, missed: Option<u64>| Some(sum.saturating_add(missed?));
    let missed = summary.cpus.iter().map(|cpu| cpu.missed).try_fold(0u64, add);
    let missed = match missed.filter(|_| !watched::is_watch(summary)) {
        Some(0) => "; no missed period".to_owned(),
        Some(missed) => format!("; {}", counted(missed, "missed period")),
        None => String::new(),
    };
    Some(format!("{}max {}{missed}.", known.collect::<String>(), latency(max)))
}

fn push_judgement(summary: &RunSummary, text: &mut String) {
    if let Some(limit_ns) = summary.settings.as_ref().and_then(|settings| settings.limit_ns) {
        let (over, _) = summary.limited_samples();
        let how_many = if over == 0 { "None".to_owned() } else { count(over) };
        text.push_str(&format!(" {how_many} came later than the limit of {}.", latency(limit_ns)));
    }
    text.push_str(&watched::cycle_judgement(summary));
    if !summary.valid {
        text.push_str(" These numbers must not be used.");
    }
}

/// The events that were recorded during the measurement; every event costs time.
pub fn tracing(summary: &RunSummary) -> String {
    if let Some(audit) = summary.settings.as_ref().and_then(|settings| settings.audit.as_ref()) {
        return match audit.interception {
            None => "every system call, page fault and signal of the program (audit)".into(),
            Some(_) => "every system call, by a library inside the program, its page faults and signals (audit)".into(),
        };
    }
    match summary.tracing.as_deref() {
        Some("off") => "nothing (tracing was off)".into(),
        Some(words) => words.into(),
        None => "unknown".into(),
    }
}

/// The tool of an imported run, with its version if known.
pub fn measured_by(imported: &ImportedFrom) -> String {
    match &imported.version {
        Some(version) => format!("{} {version}", imported.tool),
        None => imported.tool.clone(),
    }
}

/// The culprit, in one sentence.
pub fn culprit(explanation: Option<&Explanation>) -> String {
    let Some(explanation) = explanation else { return "not explained yet".into() };
    let best = explanation.findings.first();
    match (explanation.status, best) {
        (ExplanationStatus::Explained, Some(finding)) => {
            format!("{} ({})", finding.sentence, confidence_phrase(finding.confidence))
        }
        (ExplanationStatus::NotExplained, Some(finding)) => format!("not explained; best hint: {}", finding.sentence),
        (ExplanationStatus::NoTrace, _) => "no trace to explain it from".into(),
        (_, None) => "not explained".into(),
    }
}

/// Each load with its progress.
pub fn loads(summary: &RunSummary) -> Vec<String> {
    let load = |load: &archive::message::LoadReport| {
        let state = if load.alive { "" } else { "; it died" };
        let detail = if load.detail.is_empty() { String::new() } else { format!(" ({})", load.detail) };
        format!("{}: {} {}{state}{detail}", load.name, count(load.progress), load.unit)
    };
    summary.loads.iter().map(load).collect()
}

fn singular(kind: &str) -> &str {
    kind.strip_suffix('s').unwrap_or(kind)
}

/// Every loss, with its amount.
pub fn losses(summary: &RunSummary) -> Vec<String> {
    let loss = |loss: &archive::message::Loss| {
        let kind = loss.kind.to_string();
        let name = if loss.count == 1 { singular(&kind) } else { &kind };
        format!("{} {name}: {}", count(loss.count), loss.detail)
    };
    let dropped: u64 = summary.cpus.iter().map(|cpu| cpu.records_dropped).sum();
    let records = (dropped > 0).then(|| format!("{} records of samples: the meter could not keep up", count(dropped)));
    summary.losses.iter().map(loss).chain(records).chain(uncovered(summary)).collect()
}

/// The code of a problem, to follow its text, if it has one.
fn bracketed(code: &Code) -> String {
    if *code == Code::UNCLASSIFIED { String::new() } else { format!(" [{code}]") }
}

/// Remarks as lines, each with its code.
pub fn remarks(remarks: &[Remark]) -> Vec<String> {
    remarks.iter().map(|remark| format!("{}{}", remark.text, bracketed(&remark.code))).collect()
}

/// Where the codes of a summary are explained; `None` if it shows none.
pub fn where_codes_are_explained(summary: &RunSummary) -> Option<&'static str> {
    let coded = |code: &Code| *code != Code::UNCLASSIFIED;
    let shown =
        summary.problems.iter().any(|problem| coded(&problem.code)) || summary.gaps.iter().any(|gap| coded(&gap.code));
    shown.then_some("`tardy help CODE` explains each [code].")
}

/// Everything that did not go as requested, worst first, each with its fix.
pub fn problems(summary: &RunSummary) -> Vec<String> {
    let line = |problem: &Problem| format!("{}: {}", vocabulary::severity(problem.severity), problem_sentence(problem));
    worst_first(summary).into_iter().map(line).collect()
}

/// The same without their weight.
pub fn problem_sentences(summary: &RunSummary) -> Vec<String> {
    worst_first(summary).into_iter().map(problem_sentence).collect()
}

fn worst_first(summary: &RunSummary) -> Vec<&Problem> {
    let mut problems: Vec<&Problem> = summary.problems.iter().collect();
    problems.sort_by_key(|problem| std::cmp::Reverse(problem.severity));
    problems
}

fn problem_sentence(problem: &Problem) -> String {
    let fix = if problem.fix.is_empty() { String::new() } else { format!("; {}", problem.fix) };
    format!("{}{fix}{}", problem.text, bracketed(&problem.code))
}

#[cfg(test)]
mod tests {
    use super::*;
    use archive::reader::Run;
    use fixtures::assert_sentence;
    use fixtures::repository::repository_path;

    #[test]
    fn own_threads_that_were_only_interrupted_are_counted_apart() {
        let run = Run::open(repository_path("corpus/archives/v1")).unwrap();
        let mut explanations = run.explanations().unwrap();
        let share = |explanations: &[Explanation]| own_share(&RunSummary::of(&run, explanations)).unwrap();
        assert_sentence!("own-share", share(&explanations));
        let longest = |explanation: &&mut Explanation| explanation.findings.iter().any(|found| found.ns == 86_669);
        explanations.iter_mut().filter(longest).for_each(|explanation| explanation.findings.clear());
        assert_sentence!("own-share-interrupted", share(&explanations));
    }
}
