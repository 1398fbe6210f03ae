//! A piece of evidence.

use crate::briefs::explained::{Asked, explained};
use crate::mcp::context::{Context, RUN};
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};

const ID: Parameter = Parameter::text("id", "Its identifier in the account of a spike, such as 2.1.1").required();

pub struct ShowEvidence;

impl Tool for ShowEvidence {
    const NAME: &'static str = "evidence";
    const DESCRIPTION: &'static str = "Show one piece of evidence for a finding: an event of the trace or a figure.";
    const PARAMETERS: &'static [Parameter] = &[RUN, ID];

    fn answer(given: &Given, context: &Context) -> anyhow::Result<String> {
        let asked = Asked::Evidence(given.required_text(&ID)?.to_owned());
        document(&explained(&context.account(given)?, &asked)?)
    }
}
