//! The runs below the directories of the server.

use crate::briefs::runs::runs;
use crate::listing::{FilterArguments, listed_below};
use crate::mcp::context::Context;
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};

const TARGET: Parameter = Parameter::text("target", "Only runs of this target");
const CAUSE: Parameter =
    Parameter::text("cause", "Only runs whose worst wake-up has this culprit, such as irqs-off, or `not explained`");
const SKIP: Parameter =
    Parameter::number("skip", [0, u32::MAX as u64], "Runs to leave out: next_skip of the last answer");

pub struct ListRuns;

impl Tool for ListRuns {
    const NAME: &'static str = "list_runs";
    const DESCRIPTION: &'static str = "List measured and imported runs, newest first: archive (pass it as `run`), target, kernel, load, \
        largest latency, number of late wake-ups and the cause of the worst one.";
    const PARAMETERS: &'static [Parameter] = &[TARGET, CAUSE, SKIP];

    fn answer(given: &Given, context: &Context) -> anyhow::Result<String> {
        let [target, cause] = [TARGET, CAUSE].map(|parameter| given.text(&parameter).map(str::to_owned));
        let filter = FilterArguments { target, cause };
        let listed: Vec<_> =
            context.directories.all().iter().flat_map(|directory| listed_below(directory, &filter)).collect();
        let skip = given.number(&SKIP).and_then(|skip| usize::try_from(skip).ok()).unwrap_or_default();
        document(&runs(&listed, skip))
    }
}
