//! Problems that keep the step of a plan from having a result.

use archive::problem::{Code, Definition, ProblemKind};
use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepProblem {
    Stopped,
    NotRun,
}

impl fmt::Display for StepProblem {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Stopped => "stopped early",
            Self::NotRun => "this step of the plan was not run, or its machine did not start",
        })
    }
}

impl ProblemKind for StepProblem {
    fn code(&self) -> Code {
        Code::new(match self {
            Self::Stopped => "plan.step-stopped",
            Self::NotRun => "plan.step-not-run",
        })
    }
}

/// Every problem code of plans.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        code: "plan.step-stopped",
        meaning: "The step was stopped before its time; what it measured until then does not decide its limits.",
        fix: "`tardy run --resume DIR` repeats it.",
    },
    Definition {
        code: "plan.step-not-run",
        meaning: "The step left no archive: the plan was stopped before it, or its machine did not start.",
        fix: "`tardy run --resume DIR` runs it.",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_defined() {
        let codes = [StepProblem::Stopped, StepProblem::NotRun].map(|problem| problem.code());
        assert!(codes.iter().map(Code::as_str).eq(DEFINITIONS.iter().map(|definition| definition.code)));
    }
}
