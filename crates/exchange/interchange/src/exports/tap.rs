//! TAP 13 and KTAP, for `prove` and for parsers of the kernel's own tests.
//!
//! TAP has two outcomes. An unusable case is `not ok` and contains ERROR; a case without a limit, or a run that was too
//! short, is a skipped `ok`, which parsers do not count as passed.

use super::judged_results::JudgedResults;
use crate::results::{Outcome, Question, RunResults};
use std::fmt::Write;
use words::printable::printable;

pub const TAP: JudgedResults = JudgedResults {
    name: "tap",
    about: "TAP version 13",
    file_name: "results.tap",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(document(results, Dialect::Tap13).into_bytes()),
};

pub const KTAP: JudgedResults = JudgedResults {
    name: "ktap",
    about: "The kernel's dialect of TAP",
    file_name: "results.ktap",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(document(results, Dialect::Ktap1).into_bytes()),
};

/// The dialect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Tap13,
    /// Without YAML blocks, which it does not have.
    Ktap1,
}

/// The document.
fn document(runs: &[RunResults], dialect: Dialect) -> String {
    let cases: usize = runs.iter().map(|run| run.cases.len()).sum();
    let mut text = match dialect {
        Dialect::Tap13 => format!("TAP version 13\n1..{cases}\n"),
        Dialect::Ktap1 => format!("KTAP version 1\n1..{cases}\n"),
    };
    let mut number = 0;
    for run in runs {
        let _ = writeln!(text, "# {}: run {}", run.name, line(&run.id));
        if let Some(warning) = run.warning {
            let _ = writeln!(text, "# WARNING: {warning}");
        }
        for case in &run.cases {
            number += 1;
            let (ok, directive) = match case.outcome {
                Outcome::Pass => ("ok", String::new()),
                Outcome::Fail => ("not ok", String::new()),
                Outcome::Error => ("not ok", " # ERROR not usable".into()),
                Outcome::Undecided => ("ok", " # SKIP not enough to decide".into()),
                Outcome::Measured => ("ok", " # SKIP measured, no limit".into()),
            };
            let _ = writeln!(text, "{ok} {number} - {}.{}{directive}", run.name, case.name);
            if dialect == Dialect::Ktap1 {
                let _ = writeln!(text, "# {}", line(&case.sentence));
                continue;
            }
            let _ = writeln!(text, "  ---\n  message: {}", quoted(&case.sentence));
            if case.question == Question::Measurement {
                text.push_str("  figures:\n");
                for figure in &run.figures {
                    let _ = writeln!(text, "    {}_{}: {}", figure.name, figure.unit.symbol(), figure.value);
                }
            }
            if case.outcome == Outcome::Fail && !run.causes.is_empty() {
                text.push_str("  causes:\n");
                for cause in &run.causes {
                    let _ = writeln!(text, "    - {}", quoted(&cause.sentence));
                }
            }
            text.push_str("  ...\n");
        }
    }
    text
}

/// On one line. Lenient parsers would take a `#` for a directive.
fn line(text: &str) -> String {
    printable(&text.replace(['\n', '\r'], " ")).replace('#', "no. ")
}

/// A YAML string in double quotes, which has JSON's syntax.
fn quoted(text: &str) -> String {
    serde_json::Value::from(printable(text)).to_string()
}
