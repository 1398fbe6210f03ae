//! JUnit XML: Jenkins, GitLab, GitHub actions, labgrid and most others read it.
//!
//! A suite is a run. What was measured without a limit is *skipped* with the reason, because JUnit knows no fourth outcome;
//! figures and the machine are properties.

use super::{Outcome, RunResults};
use std::fmt::Write;

/// The document.
pub fn document(runs: &[RunResults]) -> String {
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
    for run in runs {
        suite(run, &mut xml);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn suite(run: &RunResults, xml: &mut String) {
    let count = |wanted: &[Outcome]| run.cases.iter().filter(|case| wanted.contains(&case.outcome)).count();
    let (day, time) = crate::text::calendar::civil(run.started_unix_s());
    let _ = writeln!(
        xml,
        "  <testsuite name=\"tardy.{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\" \
         timestamp=\"{day}T{time}\">\n    <properties>",
        escaped(&run.name),
        run.cases.len(),
        count(&[Outcome::Fail]),
        count(&[Outcome::Error]),
        count(&[Outcome::Undecided, Outcome::Measured]),
        run.measured_s(),
    );
    let warning = run.warning.map(|warning| ("warning", warning.to_owned()));
    for (name, value) in warning.into_iter().chain(run.circumstances()) {
        property(name, &value, xml);
    }
    for figure in &run.figures {
        property(&format!("{}_{}", figure.name, figure.unit.symbol()), &figure.value.to_string(), xml);
    }
    for (number, cause) in run.causes.iter().enumerate() {
        property(&format!("cause_{}", number + 1), &format!("{}: {}", cause.culprit, cause.sentence), xml);
    }
    xml.push_str("    </properties>\n");
    for case in &run.cases {
        let sentence = escaped(&case.sentence);
        let _ = writeln!(
            xml,
            "    <testcase classname=\"tardy.{}\" name=\"{}\" time=\"{:.3}\">",
            escaped(&run.name),
            escaped(&case.name),
            if case.name == "measurement" { run.measured_s() } else { 0.0 }
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
    xml.push_str("  </testsuite>\n");
}

fn property(name: &str, value: &str, xml: &mut String) {
    let _ = writeln!(xml, "      <property name=\"{}\" value=\"{}\"/>", escaped(name), escaped(value));
}

/// Text of an element or a value. Characters that XML cannot hold at all become question marks.
fn escaped(text: &str) -> String {
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
