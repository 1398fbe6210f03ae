//! The account of one spike.

use crate::briefs::explained::{Asked, explained};
use crate::mcp::context::{Context, RUN};
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};

const SPIKE: Parameter = Parameter::number("spike", [0, u32::MAX as u64], "The number of the spike").required();

pub struct ExplainSpike;

impl Tool for ExplainSpike {
    const NAME: &'static str = "explain_spike";
    const DESCRIPTION: &'static str = "Account for one late wake-up to the nanosecond: phases with who held the CPU, findings \
        with typed facts, confidence and identifiers of their evidence, and what observation would decide an open question.";
    const PARAMETERS: &'static [Parameter] = &[RUN, SPIKE];

    fn answer(given: &Given, context: &Context) -> anyhow::Result<String> {
        let spike = u32::try_from(given.required_number(&SPIKE)?)?;
        document(&explained(&context.account(given)?, &Asked::Spike(spike))?)
    }
}
