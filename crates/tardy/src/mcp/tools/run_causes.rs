//! The causes of a run.

use crate::briefs::explained::{Asked, explained};
use crate::mcp::context::{Context, RUN};
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};

pub struct RunCauses;

impl Tool for RunCauses {
    const NAME: &'static str = "run_causes";
    const DESCRIPTION: &'static str = "Explain why the wake-ups of a run were late: whether its figures may be used, its largest \
        latency, its causes with counts, and its worst spikes, whose numbers `explain_spike` takes.";
    const PARAMETERS: &'static [Parameter] = &[RUN];

    fn answer(given: &Given, context: &Context) -> anyhow::Result<String> {
        document(&explained(&context.account(given)?, &Asked::Causes)?)
    }
}
