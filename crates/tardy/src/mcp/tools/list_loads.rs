//! The loads that can run during a measurement.

use crate::briefs::loads::loads;
use crate::mcp::context::Context;
use crate::mcp::parameter::{Given, Parameter};
use crate::mcp::tool::{Tool, document};

const NAME_OF_LOAD: Parameter = Parameter::text("name", "Everything about this load [default: the names of all]");

pub struct ListLoads;

impl Tool for ListLoads {
    const NAME: &'static str = "list_loads";
    const DESCRIPTION: &'static str = "List what `tardy run --load` can run beside a measurement.";
    const PARAMETERS: &'static [Parameter] = &[NAME_OF_LOAD];

    fn answer(given: &Given, _context: &Context) -> anyhow::Result<String> {
        document(&loads(given.text(&NAME_OF_LOAD))?)
    }
}
