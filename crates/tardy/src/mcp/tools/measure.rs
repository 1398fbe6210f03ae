//! A measurement of limited length on a target.

use crate::briefs::explained::{Asked, explained};
use crate::mcp::context::Context;
use crate::mcp::measurement::{GRACE, Measurement};
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};
use account::{Account, ExplanationSource};
use std::time::Duration;

const TARGET: Parameter = Parameter::text("target", "`local`, or a target added with `tardy target add`").required();
const SECONDS: Parameter = Parameter::number("duration_s", [1, 600], "Seconds to measure").required();
const LOAD: Parameter = Parameter::text("load", "A load of `list_loads` to run beside it, such as messaging:4");
const LIMIT_US: Parameter = Parameter::number("limit_us", [1, 10_000_000], "Latency in µs that is too late");

pub struct Measure;

impl Tool for Measure {
    const NAME: &'static str = "measure";
    const DESCRIPTION: &'static str = "Measure the wake-up latency of a target with real-time threads for a limited time, store the \
        run, and answer with its causes. Loads and threads at real-time priority slow the target down meanwhile.";
    const PARAMETERS: &'static [Parameter] = &[TARGET, SECONDS, LOAD, LIMIT_US];
    const MEASURES: bool = true;

    fn answer(given: &Given, context: &Context) -> anyhow::Result<String> {
        let measurement = Measurement {
            target: given.required_text(&TARGET)?,
            seconds: given.required_number(&SECONDS)?,
            load: given.text(&LOAD),
            limit_us: given.number(&LIMIT_US),
        };
        let archive = measurement.run(context)?;
        document(&explained(&Account::open(archive, ExplanationSource::Traces)?, &Asked::Causes)?)
    }

    fn limit(given: &Given) -> Duration {
        // The measurement ends by itself before.
        Duration::from_secs(given.number(&SECONDS).unwrap_or_default()) + 2 * GRACE
    }
}
