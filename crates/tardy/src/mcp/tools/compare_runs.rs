//! Two runs side by side.

use crate::briefs::compared::compared_runs;
use crate::mcp::context::Context;
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};

const A: Parameter = Parameter::text("a", "Archive or id of a run").required();
const B: Parameter = Parameter::text("b", "Archive or id of the other run").required();

pub struct CompareRuns;

impl Tool for CompareRuns {
    const NAME: &'static str = "compare_runs";
    const DESCRIPTION: &'static str = "Compare two runs: figures, causes of late wake-ups, differences of machine and settings. One \
        run each is not a verdict.";
    const PARAMETERS: &'static [Parameter] = &[A, B];

    fn answer(given: &Given, context: &Context) -> anyhow::Result<String> {
        document(&compared_runs([context.run(given, &A)?, context.run(given, &B)?])?)
    }
}
