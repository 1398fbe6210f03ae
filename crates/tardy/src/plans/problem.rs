//! Problems that keep the step of a plan from having a result.

use archive::problem::Problem;
use thiserror::Error;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Error, Problem)]
pub enum StepProblem {
    #[error("stopped early")]
    #[problem(
        code = "plan.step-stopped",
        meaning = "The step was stopped early; its samples do not decide its limits.",
        fix = "`tardy run --resume DIR` repeats it"
    )]
    Stopped,
    #[error("this step of the plan was not run, or its machine did not start")]
    #[problem(
        code = "plan.step-not-run",
        meaning = "The step left no archive: the plan was stopped before it, or its machine did not start.",
        fix = "`tardy run --resume DIR` runs it"
    )]
    NotRun,
}
