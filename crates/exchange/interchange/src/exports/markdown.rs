//! Markdown for a comment on a merge request: verdicts, figures, causes, and what they do not show.

use super::judged_results::JudgedResults;
use crate::results::{Outcome, RunResults};
use judge::step::StepVerdict;
use report::watched::is_watch;
use std::fmt::Write;
use words::figures::{duration, latency, microseconds_rough};
use words::printable::printable;
use words::vocabulary::{self, watched_series};

pub const MARKDOWN: JudgedResults = JudgedResults {
    name: "markdown",
    about: "The comment under a merge request",
    file_name: "comment.md",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(document(results).into_bytes()),
};

/// The comment.
fn document(runs: &[RunResults]) -> String {
    let timers = runs.iter().all(|run| vocabulary::sample(&run.summary).is_wake_up());
    let mut text = String::from(if timers { "## Wake-up latency\n" } else { "## Latency\n" });
    for runs in runs.chunk_by(|one, next| one.suite == next.suite) {
        if runs[0].within_suite().is_some() {
            overview(runs, &mut text);
        }
        runs.iter().for_each(|run| section(run, &mut text));
    }
    text.push_str(
        "\nA maximum is an observation, not a bound. Two runs that differ do not show that a change made the difference; \
         `tardy experiment` does.\n",
    );
    text
}

/// A line for each step of a plan.
fn overview(steps: &[RunResults], text: &mut String) {
    let _ = writeln!(text, "\n### {}\n\n| step | | cycles | p99 µs | max µs | spikes |", safe(&steps[0].suite));
    text.push_str("|---|---|--:|--:|--:|--:|\n");
    for step in steps {
        let summary = &step.summary;
        let [p99, max] = [summary.all_cpus.p99, summary.all_cpus.max].map(microseconds_rough);
        let cycles = summary.headline_samples();
        let _ = writeln!(
            text,
            "| {} | {} | {cycles} | {p99} | {max} | {} |",
            safe(step.within_suite().unwrap_or(&step.name)),
            StepVerdict::of(summary.valid, &step.judgements).words(),
            summary.late_spikes().count()
        );
    }
}

fn section(run: &RunResults, text: &mut String) {
    let summary = &run.summary;
    let _ = writeln!(text, "\n### {}\n", safe(&run.name));
    if let Some(warning) = run.warning {
        let _ = writeln!(text, "**{warning}**\n");
    }
    let kernel = summary.environment.as_ref().map(|environment| environment.kernel_release.as_str());
    let _ = writeln!(
        text,
        "{}{} on {}",
        summary.measured_ns.map_or(String::new(), |ns| format!("{} measured, ", duration(ns))),
        kernel.map_or("unknown kernel".into(), safe),
        if summary.target.is_empty() { "an unknown target".into() } else { safe(&summary.target) }
    );
    text.push_str("\n| | | |\n|---|---|---|\n");
    for case in &run.cases {
        let word = match case.outcome {
            Outcome::Pass => "PASS",
            Outcome::Fail => "**FAIL**",
            Outcome::Undecided => "undecided",
            Outcome::Measured => "measured",
            Outcome::Error => "**ERROR**",
        };
        let limit = run.judgements.iter().map(|judgement| &judgement.limit.text);
        let name = std::iter::once("measurement").chain(limit.map(String::as_str));
        let at = run.cases.iter().position(|other| other == case).unwrap_or(0);
        let name = name.into_iter().nth(at).unwrap_or(&case.name);
        let _ = writeln!(text, "| {} | {word} | {} |", safe(name), safe(&case.sentence));
    }
    let subject = if is_watch(summary) { "series" } else { "CPU" };
    let heads = format!("\n| {subject} | cycles | missed | p50 µs | p99 µs | p99.9 µs | max µs |\n");
    text.push_str(&heads);
    text.push_str("|--:|--:|--:|--:|--:|--:|--:|\n");
    for cpu in &summary.cpus {
        let figures = &cpu.latency_ns;
        let latencies = [figures.p50, figures.p99, figures.p99_9, figures.max].map(microseconds_rough).join(" | ");
        let missed = cpu.missed.map_or("-".into(), |missed| missed.to_string());
        let name = cpu.watched.as_ref().map_or_else(|| cpu.cpu.to_string(), |series| safe(&watched_series(series)));
        let _ = writeln!(text, "| {name} | {} | {missed} | {latencies} |", cpu.cycles);
    }
    if !run.causes.is_empty() || !run.unexplained.is_empty() {
        text.push_str("\n| cause | spikes | worst | found |\n|---|--:|--:|---|\n");
        for cause in &run.causes {
            let (name, found) = (safe(cause.culprit.id()), safe(&cause.sentence));
            let _ = writeln!(text, "| {name} | {} | {} | {found} |", cause.spikes, latency(cause.latency_ns_max));
        }
        if let Some(worst) = run.unexplained.first() {
            let _ = writeln!(text, "| not explained | {} | {} | |", run.unexplained.len(), latency(*worst));
        }
    }
}

/// Text without Markdown syntax, on one line of a table.
pub fn safe(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in printable(&text.replace(['\n', '\r'], " ")).chars() {
        match letter {
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '!' | '~' | '@' => {
                safe.push('\\');
                safe.push(letter);
            }
            letter => safe.push(letter),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::safe;

    #[test]
    fn control_characters_of_a_target_are_shown_and_not_obeyed() {
        let text = safe("board\u{1b}[2J\u{202e}x\n| y");
        assert!(text.chars().all(|letter| !letter.is_control() && letter != '\u{202e}'), "{text:?}");
        assert!(text.contains("board") && text.ends_with(" \\| y"), "{text:?}");
    }
}
