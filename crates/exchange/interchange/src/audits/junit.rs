//! JUnit XML: a test for each rule, which fails if a thread has a habit that is denied.

use super::{AuditFormat, Audited};
use crate::exports::escaped;
use audit::report::AuditReport;
use audit::rules::{Habit, RULES};
use std::fmt::Write;
use words::printable::printable;

#[derive(Debug)]
pub struct Junit;

impl AuditFormat for Junit {
    fn name(&self) -> &'static str {
        "junit"
    }

    fn about(&self) -> &'static str {
        "For test systems: one test for each rule"
    }

    fn document(&self, audited: &Audited<'_>) -> serde_json::Result<Vec<u8>> {
        Ok(document(audited.report, audited.whom, audited.denied).into_bytes())
    }
}

/// The document. `whom` names the program; habits that are not denied are part of the output of their test.
fn document(report: &AuditReport, whom: &str, denied: &dyn Fn(&str) -> bool) -> String {
    let of = |rule: &str| report.findings.iter().filter(|finding| finding.rule == rule).collect::<Vec<_>>();
    let failures = RULES.iter().filter(|rule| denied(rule.name) && !of(rule.name).is_empty()).count();
    let (tests, suite) = (RULES.len(), escaped(whom));
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tardy audit\" tests=\"{tests}\" failures=\"{failures}\">\n  \
         <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\">\n"
    );
    for rule in RULES {
        let _ = write!(xml, "    <testcase classname=\"tardy.audit\" name=\"{}\"", rule.name);
        let findings = of(rule.name);
        if findings.is_empty() {
            xml.push_str("/>\n");
            continue;
        }
        let lines: Vec<String> = findings.iter().map(|finding| escaped(&printable(&line(finding)))).collect();
        let text = lines.join("\n");
        let _ = match denied(rule.name) {
            true => writeln!(
                xml,
                ">\n      <failure message=\"{}\">{text}\n{}</failure>\n    </testcase>",
                escaped(&format!("a real-time thread {}", rule.title)),
                escaped(rule.instead)
            ),
            false => writeln!(xml, ">\n      <system-out>{text}</system-out>\n    </testcase>"),
        };
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

fn line(finding: &Habit) -> String {
    let worst = finding.worst_ns.map_or(String::new(), |ns| format!(", worst {ns} ns"));
    let count = if finding.count > 0 { format!(" ({} times{worst})", finding.count) } else { String::new() };
    format!("{} (thread {}): {}{count}", finding.thread, finding.tid, finding.what)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(thread: &str) -> AuditReport {
        let rule = RULES[0];
        let finding = Habit {
            rule: rule.name,
            pid: 1,
            tid: 2,
            thread: thread.into(),
            what: "a & b".into(),
            count: 3,
            is_lower_bound: false,
            per_second: None,
            worst_ns: Some(5),
            at_ns: None,
            stack: Vec::new(),
            why: rule.why,
            instead: rule.instead,
        };
        let (threads, events_absent) = (Vec::new(), Vec::new());
        AuditReport {
            audit_version: 1,
            without_real_time: false,
            threads,
            threads_left_out: 0,
            files_left_out: 0,
            mappings_left_out: 0,
            processes_left_out: 0,
            findings: vec![finding],
            gaps: 0,
            cut_off: false,
            events_absent,
            cost_ns_per_call: None,
            interception: None,
        }
    }

    #[test]
    fn a_denied_habit_fails_its_test_and_another_one_is_only_shown() {
        let denied = document(&report("loop"), "robot", &|_| true);
        assert!(denied.contains("failures=\"1\"") && denied.contains("<failure message="), "{denied}");
        assert!(denied.contains("loop (thread 2): a &amp; b (3 times, worst 5 ns)"), "{denied}");
        let shown = document(&report("loop"), "robot", &|_| false);
        assert!(shown.contains("failures=\"0\"") && shown.contains("<system-out>"), "{shown}");
    }

    #[test]
    fn names_from_a_target_are_escaped() {
        let xml = document(&report("<b>\u{1b}[2J"), "</testsuite>", &|_| true);
        assert!(!xml.contains("<b>") && !xml.contains('\u{1b}') && xml.matches("</testsuite>").count() == 1, "{xml}");
    }
}
