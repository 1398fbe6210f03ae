//! Sentences about lines counted in the output of a watched command.

use archive::explanation::{Explanation, ExplanationStatus};
use archive::summary::{BESIDE_NS, CountedText, PrintedLine, RunSummary};
use std::collections::BTreeMap;
use words::figures::{count, counted, duration, latency};

/// Title of the section.
pub const TITLE: &str = "Counted lines";

/// Stands wherever lines have causes.
pub const NO_PROOF: &str = "A spike before a line does not show that it was the reason.";

/// Number of lines with a text.
pub fn headline(text: &CountedText) -> String {
    format!("{} with {}", counted(text.count, "line"), text.text)
}

/// The number of lines by the cause of the late wake-up before each: `21 lines with XRun: 20 after realtime-task (hog-71), 1 after
/// no captured spike` with [`NO_PROOF`].
pub fn with_causes(text: &CountedText, summary: &RunSummary) -> String {
    let mut causes: BTreeMap<String, u64> = BTreeMap::new();
    for line in &text.lines {
        *causes.entry(cause(line, summary)).or_default() += 1;
    }
    let mut causes: Vec<(String, u64)> = causes.into_iter().collect();
    causes.sort_by_key(|(_, lines)| std::cmp::Reverse(*lines));
    let mut each: Vec<String> = causes.iter().map(|(cause, lines)| format!("{} {cause}", count(*lines))).collect();
    let unkept = text.count.saturating_sub(text.lines.len() as u64);
    if unkept > 0 {
        each.push(format!("{} not kept", count(unkept)));
    }
    let of = if each.is_empty() { String::new() } else { format!(": {}", each.join(", ")) };
    format!("{}{of}.{}", headline(text), reservation(text).map(|said| format!(" {said}")).unwrap_or_default())
}

/// [`NO_PROOF`] if a spike came before one of the lines.
pub fn reservation(text: &CountedText) -> Option<&'static str> {
    text.lines.iter().any(|line| line.beside.is_some()).then_some(NO_PROOF)
}

/// The cause of the late wake-up before a line, as a phrase behind the number of such lines.
fn cause(line: &PrintedLine, summary: &RunSummary) -> String {
    match (cause_before(line, summary), &line.beside, line.at_ns) {
        (Some(cause), ..) => format!("after {cause}"),
        (None, Some(_), _) => "after a wake-up that is not explained".into(),
        (None, None, Some(_)) => "after no captured spike".into(),
        (None, None, None) => "at an unknown instant".into(),
    }
}

/// The cause of the late wake-up before a line: `other-rt-task (hog-71)`; `None` where nothing is explained.
fn cause_before(line: &PrintedLine, summary: &RunSummary) -> Option<String> {
    let number = line.beside.as_ref()?.spike;
    let entry = summary.spikes.iter().find(|entry| entry.spike.number == number)?;
    explained(entry.explanation.as_ref()?)
}

/// The first finding with the thread or interrupt that had the CPU longest.
fn explained(explanation: &Explanation) -> Option<String> {
    let finding = explanation.findings.first().filter(|_| explanation.status == ExplanationStatus::Explained)?;
    let owner = explanation.phases.iter().flat_map(|phase| &phase.owners).max_by_key(|owner| owner.ns);
    Some(match owner.filter(|owner| !owner.name.is_empty()) {
        Some(owner) => format!("{} ({})", finding.culprit, owner.name),
        None => finding.culprit.to_string(),
    })
}

/// When a line was printed, if known, and how exactly.
pub fn when(line: &PrintedLine) -> String {
    match (line.at_ns, line.uncertain_ns) {
        (None, _) => "at an unknown instant".into(),
        (Some(at), None) => format!("at {}", duration(at)),
        (Some(at), Some(before)) => format!("at {}, or up to {} earlier", duration(at), duration(before as i64)),
    }
}

/// The late wake-up before a line, with its cause.
pub fn beside(line: &PrintedLine, summary: &RunSummary) -> String {
    match (line.at_ns, &line.beside) {
        (None, _) => "the command ran on another machine".into(),
        (Some(_), None) => format!("no captured spike in the {} before", duration(BESIDE_NS)),
        (Some(_), Some(beside)) => {
            let whose = if beside.name.is_empty() { String::new() } else { format!(" of {}", beside.name) };
            let (before, late) = (latency(beside.before_ns), latency(beside.latency_ns));
            let cause = cause_before(line, summary).map(|cause| format!(", by {cause}")).unwrap_or_default();
            format!("{before} after spike {}{whose} ({late}{cause})", beside.spike)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_log_has_its_uncertainty() {
        let at = |at_ns, uncertain_ns| when(&PrintedLine { line: "XRun".into(), at_ns, uncertain_ns, beside: None });
        assert_eq!(at(Some(2_000_000_000), Some(10_000_000)), "at 2.0 s, or up to 10 ms earlier");
        assert_eq!(at(Some(2_000_000_000), None), "at 2.0 s");
        assert_eq!(at(None, None), "at an unknown instant");
    }
}
