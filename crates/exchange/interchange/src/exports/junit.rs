//! JUnit XML, for Jenkins, GitLab, GitHub actions, labgrid and most others.
//!
//! A suite is a run, or the round of a plan with one class per step. A measurement without a limit is *skipped* with
//! the reason, because JUnit has no fourth outcome; figures and the machine are properties.

use super::judged_results::JudgedResults;
use crate::results::{Outcome, Question, RunResults};
use std::fmt::Write;

pub const JUNIT: JudgedResults = JudgedResults {
    name: "junit",
    about: "JUnit XML: Jenkins, GitLab and most others",
    file_name: "junit.xml",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(document(results).into_bytes()),
};

/// The document.
fn document(runs: &[RunResults]) -> String {
    let of = |outcome: &[Outcome]| -> usize {
        runs.iter().map(|run| run.cases.iter().filter(|case| outcome.contains(&case.outcome)).count()).sum()
    };
    let all: usize = runs.iter().map(|run| run.cases.len()).sum();
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tardy\" tests=\"{all}\" failures=\"{}\" \
         errors=\"{}\" skipped=\"{}\">\n",
        of(&[Outcome::Fail]),
        of(&[Outcome::Error]),
        of(&[Outcome::Undecided, Outcome::Measured]),
    );
    for runs in runs.chunk_by(|one, next| one.suite == next.suite) {
        suite(runs, &mut xml);
    }
    xml.push_str("</testsuites>\n");
    xml
}

/// `runs` must not be empty, and all of one suite.
fn suite(runs: &[RunResults], xml: &mut String) {
    let cases = || runs.iter().flat_map(|run| &run.cases);
    let count = |wanted: &[Outcome]| cases().filter(|case| wanted.contains(&case.outcome)).count();
    let _ = writeln!(
        xml,
        "  <testsuite name=\"tardy.{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\"{}{}>\n    <properties>",
        escaped(&runs[0].suite),
        cases().count(),
        count(&[Outcome::Fail]),
        count(&[Outcome::Error]),
        count(&[Outcome::Undecided, Outcome::Measured]),
        time_attribute(runs),
        timestamp_attribute(runs),
    );
    runs.iter().for_each(|run| properties(run, xml));
    xml.push_str("    </properties>\n");
    runs.iter().for_each(|run| test_cases(run, xml));
    xml.push_str("  </testsuite>\n");
}

/// The measured time, as far as it is known.
fn time_attribute(runs: &[RunResults]) -> String {
    let known: Vec<f64> = runs.iter().filter_map(RunResults::measured_s).collect();
    if known.is_empty() { String::new() } else { format!(" time=\"{:.3}\"", known.iter().sum::<f64>()) }
}

/// Judging takes no time; empty if another tool did not note its time.
fn case_time(run: &RunResults, question: Question) -> String {
    let seconds = run.measured_s().map(|seconds| if question == Question::Measurement { seconds } else { 0.0 });
    seconds.map_or(String::new(), |seconds| format!(" time=\"{seconds:.3}\""))
}

/// The first start of the runs; empty if no tool noted it.
fn timestamp_attribute(runs: &[RunResults]) -> String {
    let starts: Vec<u64> = runs.iter().filter_map(RunResults::started_unix_s).collect();
    let known = starts.iter().copied().filter(|started| *started > 0);
    let Some(first) = known.min().or(starts.first().copied()) else { return String::new() };
    let (day, time) = words::calendar::civil(first);
    format!(" timestamp=\"{day}T{time}\"")
}

/// JUnit only has properties of suites, so those of a step start with its name.
fn properties(run: &RunResults, xml: &mut String) {
    let step = run.within_suite().map_or(String::new(), |step| format!("{step}."));
    let mut add = |name: &str, value: &str| property(&format!("{step}{name}"), value, xml);
    let warning = run.warning.map(|warning| ("warning", warning.to_owned()));
    for (name, value) in warning.into_iter().chain(run.circumstances()) {
        add(name, &value);
    }
    for figure in &run.figures {
        add(&format!("{}_{}", figure.name, figure.unit.symbol()), &figure.value.to_string());
    }
    for (number, cause) in run.causes.iter().enumerate() {
        add(&format!("cause_{}", number + 1), &format!("{}: {}", cause.culprit, cause.sentence));
    }
}

fn test_cases(run: &RunResults, xml: &mut String) {
    for case in &run.cases {
        let sentence = escaped(&case.sentence);
        let _ = writeln!(
            xml,
            "    <testcase classname=\"tardy.{}\" name=\"{}\"{}>",
            escaped(&run.name),
            escaped(&case.name),
            case_time(run, case.question)
        );
        let _ = match case.outcome {
            Outcome::Pass => writeln!(xml, "      <system-out>{sentence}</system-out>"),
            Outcome::Fail => writeln!(
                xml,
                "      <failure message=\"{sentence}\" type=\"limit\">{}</failure>",
                escaped(&run.causes.iter().map(|cause| format!("{}\n", cause.sentence)).collect::<String>())
            ),
            Outcome::Error => writeln!(xml, "      <error message=\"{sentence}\" type=\"measurement\"/>"),
            Outcome::Undecided | Outcome::Measured => writeln!(xml, "      <skipped message=\"{sentence}\"/>"),
        };
        xml.push_str("    </testcase>\n");
    }
}

fn property(name: &str, value: &str, xml: &mut String) {
    let _ = writeln!(xml, "      <property name=\"{}\" value=\"{}\"/>", escaped(name), escaped(value));
}

/// Escaped text of an element or an attribute. Characters that are invalid in XML become question marks.
pub(crate) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\u{fffe}' | '\u{ffff}' => safe.push('?'),
            letter if letter.is_control() => safe.push('?'),
            letter => safe.push(letter),
        }
    }
    safe
}
