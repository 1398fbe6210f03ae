//! The verdict about a limit.

use crate::briefs::judged::judged;
use crate::mcp::context::{Context, RUN};
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};
use crate::options::limits::LimitArguments;
use account::brief::judged::BriefJudged;

const LIMIT: Parameter =
    Parameter::text("limit", "Such as `latency < 100us` or `p99.9 < 50us` [default: the limits of the run]");
const ALLOW: Parameter =
    Parameter::text("allow", "How often a latency may be exceeded: 1/h, 3/day, never [default: 1/h]");
const CONFIDENCE: Parameter = Parameter::text("confidence", "In percent [default: 95]");

pub struct JudgeRun;

impl Tool for JudgeRun {
    const NAME: &'static str = "judge_run";
    const DESCRIPTION: &'static str = "Decide whether a run shows that a limit holds: pass, fail, not_enough_data (with the hours \
        still needed) or no_verdict (with the reason).";
    const PARAMETERS: &'static [Parameter] = &[RUN, LIMIT, ALLOW, CONFIDENCE];

    fn answer(given: &Given, context: &Context) -> anyhow::Result<String> {
        let limits = LimitArguments::asked(given.text(&LIMIT), given.text(&ALLOW), given.text(&CONFIDENCE))?;
        document(&BriefJudged::of(&judged(context.run(given, &RUN)?, &limits, None)?))
    }
}
