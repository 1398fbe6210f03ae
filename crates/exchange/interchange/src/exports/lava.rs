//! LAVA: signal lines for a job's log, and the lines of `result.txt` for test-definitions.
//!
//! LAVA has pass, fail, skip and unknown. A limit that is neither PASS nor FAIL is *skip*; a case without a limit and
//! one that could not be measured are *unknown*.

use super::judged_results::JudgedResults;
use crate::results::{Outcome, RunResults};
use std::fmt::Write;

pub const SIGNALS: JudgedResults = JudgedResults {
    name: "lava",
    about: "Signal lines for the log of a LAVA job",
    file_name: "lava-signals.txt",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(signals(results).into_bytes()),
};

pub const RESULT_LINES: JudgedResults = JudgedResults {
    name: "lava-result",
    about: "Lines of a result.txt, for LAVA's test-definitions",
    file_name: "result.txt",
    takes_several: true,
    options: &[],
    document: |_, results| Ok(result_lines(results).into_bytes()),
};

fn result(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Pass => "pass",
        Outcome::Fail => "fail",
        Outcome::Undecided => "skip",
        Outcome::Measured | Outcome::Error => "unknown",
    }
}

/// Lines to print in a LAVA test shell. Each is independent, because a kernel message may split one.
fn signals(runs: &[RunResults]) -> String {
    let mut text = String::new();
    for run in runs {
        let _ = writeln!(text, "<LAVA_SIGNAL_TESTSET START {}>", run.name);
        for case in &run.cases {
            let outcome = result(case.outcome);
            let _ = writeln!(text, "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={} RESULT={outcome}>", case.name);
        }
        for figure in &run.figures {
            let _ = writeln!(
                text,
                "<LAVA_SIGNAL_TESTCASE TEST_CASE_ID={} RESULT=unknown MEASUREMENT={} UNITS={}>",
                figure.name,
                figure.value,
                figure.unit.symbol()
            );
        }
        text.push_str("<LAVA_SIGNAL_TESTSET STOP>\n");
    }
    text
}

/// Lines for `send-to-lava.sh`: `<case> <result> [<measurement> <units>]`.
fn result_lines(runs: &[RunResults]) -> String {
    let mut text = String::new();
    for run in runs {
        let _ = writeln!(text, "lava-test-set start {}", run.name);
        for case in &run.cases {
            let _ = writeln!(text, "{} {}", case.name, result(case.outcome));
        }
        for figure in &run.figures {
            let _ = writeln!(text, "{} unknown {} {}", figure.name, figure.value, figure.unit.symbol());
        }
        let _ = writeln!(text, "lava-test-set stop {}", run.name);
    }
    text
}
